// Groups with members in several processes.
#pragma once

#include <memory>

#include "comm/fabric.h"
#include "comm/group.h"

namespace tw::comm {

// Its members must be in the fabric's world; the caller's process must own one of them. `instance` tells
// groups of equal ranks apart.
Ref<Group> make_process_group(Fabric& fabric, std::vector<int> ranks, int64_t timeout_ms, uint64_t instance);

}  // namespace tw::comm

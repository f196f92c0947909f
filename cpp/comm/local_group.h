// Groups whose members are all addressable: calls are memory moved at once on the caller.
#pragma once

#include "comm/group.h"

namespace tw::comm {

Ref<Group> make_local_group(std::vector<int> ranks, int64_t timeout_ms);

}  // namespace tw::comm

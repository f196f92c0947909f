// The thread that looks after what groups have queued on devices: the host may be waiting for a stream that
// waits for a member that has died.
#pragma once

#include "cuda/comm/nccl_group.h"

namespace tw::cuda {

// From now on the group's watch() is called several times a second; it lives as long as the process.
void watch_group(NcclGroup& group);

}  // namespace tw::cuda

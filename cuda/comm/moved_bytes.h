// What a call on GPUs sends from member to member, for the statistics of its group. NCCL does not say:
// counted is what no way of doing it undercuts, as the calls on CPUs send it.
#pragma once

#include "comm/group.h"

namespace tw::cuda {

// By the members of this process; over all processes they add up to what the call moves.
int64_t moved_bytes(const comm::Call& call, const comm::Group& group);

}  // namespace tw::cuda

// Collective calls among the members of one process.
#pragma once

#include "comm/call.h"

namespace tw::comm {

// Runs a checked call whose members are all addressable, `parts` in their order. Returns the bytes that went
// from one member to another: for p members and T elements 2(p-1)T in an all-reduce, (p-1)T in a reduce, a
// broadcast, a reduce-scatter or an all-gather of T in all.
int64_t run_local(const Call& call);
// Throws kValue where what members of one process send in an all-to-all is not what others want.
void check_exchange(const Call& call);

}  // namespace tw::comm

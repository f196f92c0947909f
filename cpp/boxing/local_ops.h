// Copies and folds between parts in one memory.
#pragma once

#include "base/dtype.h"
#include "boxing/program.h"

namespace tw::boxing {

// slots: the addresses that views refer to. Reads each source once, writes the target once; sources that do
// not lie dense are copied first, and so is a fold to a target that does not.
void run_local(const LocalOp& op, DType dtype, void* const* slots);

}  // namespace tw::boxing

// Copies and folds between parts in one memory.
#pragma once

#include <array>

#include "base/dtype.h"
#include "boxing/program.h"

namespace tw::boxing {

// slots: the addresses that views refer to. Reads each source once, writes the target once; sources that do
// not lie dense are copied first, and so is a fold to a target that does not.
void run_local(const LocalOp& op, DType dtype, void* const* slots);

// What a fold does not change, as the bytes of an element.
std::array<char, 16> neutral_element(sbp::ReduceOp op, DType dtype);

}  // namespace tw::boxing

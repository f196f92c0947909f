// Copies and folds between parts on devices with memory and streams of their own.
#pragma once

#include "base/dtype.h"
#include "boxing/program.h"

namespace tw::boxing {

// Queued on the current streams of the devices, each in the order of the others where one reads what another
// has: the caller waits for nothing, and what is queued on these streams later finds the results. `devices`
// says where each slot lies. What is not dense is packed on its own device before it goes to another one.
void run_on_devices(const LocalOp& op, DType dtype, void* const* slots, const int* devices);

}  // namespace tw::boxing

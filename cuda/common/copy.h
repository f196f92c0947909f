// Copies for kernels that want an operand in another dtype or order.
#pragma once

#include "device/kernel.h"

namespace tw::cuda {

// out = in, converted to out's dtype and broadcast to its sizes, on the current stream; `op` is named in
// errors. Defined in ops/movement/cast.cu.
void copy_cast(const device::Operand& out, const device::Operand& in, const char* op);

}  // namespace tw::cuda

// bitwise_and, _or, _xor, _not, shifts, gcd, lcm. Bytes: the operands' once. Floor: bytes over the bandwidth;
// gcd and lcm take up to 90 divisions an element, and as long as the slowest lane of a warp.
//
// Per element: 12 bytes and 1 operation (bitwise_and, int32).
#include "cuda/common/pointwise_ops.h"
#include "ops/pointwise/logic_formula.h"

namespace tw::cuda {

void kernels_logic(device::KernelTable& table) { ops::add_logic(PointwiseOps(table)); }

}  // namespace tw::cuda

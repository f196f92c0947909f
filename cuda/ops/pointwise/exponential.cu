// One function of an element: reads and writes it once. sqrt, rsqrt and reciprocal run at the bandwidth, the
// others take some 10 to 30 instructions an element and do too in float; in double the rate of fp64 is the
// limit. Floor: bytes over the bandwidth.
//
// Per element: 8 bytes and 15 operations (exp, float32).
#include "cuda/common/pointwise_ops.h"
#include "ops/pointwise/exponential_formula.h"

namespace tw::cuda {

void kernels_exponential(device::KernelTable& table) { ops::add_exponential(PointwiseOps(table)); }

}  // namespace tw::cuda

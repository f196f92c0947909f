// Functions of two floating elements. Bytes: the operands' once; 10 to 60 instructions an element. Floor:
// bytes over the bandwidth.
//
// Per element: 12 bytes and 60 operations (logaddexp, float32).
#include "cuda/common/pointwise_ops.h"
#include "ops/pointwise/float_pairs_formula.h"

namespace tw::cuda {

void kernels_float_pairs(device::KernelTable& table) { ops::add_float_pairs(PointwiseOps(table)); }

}  // namespace tw::cuda

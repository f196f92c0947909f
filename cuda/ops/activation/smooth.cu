// elu, silu, mish, softplus, logsigmoid and their gradients. Forward reads x and writes y, backward reads g
// and x and writes dx; 20 to 60 instructions an element. Floor: bytes over the bandwidth.
//
// Per element: 8 bytes and 20 operations (silu, float32).
#include "cuda/common/pointwise_ops.h"
#include "ops/activation/smooth_formula.h"

namespace tw::cuda {

void kernels_smooth(device::KernelTable& table) { ops::add_smooth(PointwiseOps(table)); }

}  // namespace tw::cuda

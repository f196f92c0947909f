// relu, threshold, leaky_relu, hardtanh, hardsigmoid, hardswish, hardshrink, softshrink, prelu and their
// gradients. Bytes: the operands' once; a few instructions an element. Floor: bytes over the bandwidth.
//
// Per element: 8 bytes and 1 operation (relu, float32).
#include "cuda/common/pointwise_ops.h"
#include "ops/activation/piecewise_formula.h"

namespace tw::cuda {

void kernels_piecewise(device::KernelTable& table) { ops::add_piecewise(PointwiseOps(table)); }

}  // namespace tw::cuda

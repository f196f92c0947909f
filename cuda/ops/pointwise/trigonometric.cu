// One function of an element: reads and writes it once, 20 to 60 instructions. Floor: bytes over the
// bandwidth.
//
// Per element: 8 bytes and 30 operations (sin, float32).
#include "cuda/common/pointwise_ops.h"
#include "ops/pointwise/trigonometric_formula.h"

namespace tw::cuda {

void kernels_trigonometric(device::KernelTable& table) { ops::add_trigonometric(PointwiseOps(table)); }

}  // namespace tw::cuda

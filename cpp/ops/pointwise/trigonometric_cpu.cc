// One pass, 20 to 60 operations an element; the inverse functions of float compute in double.
#include "ops/pointwise/trigonometric_formula.h"
#include "ops/pointwise_ops_cpu.h"

namespace tw::ops {

using namespace device;

void kernels_trigonometric(KernelTable& table) { add_trigonometric(PointwiseOps<CpuLoops>(table)); }

}  // namespace tw::ops

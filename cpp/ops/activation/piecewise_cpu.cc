// One pass each; floor: the operands' bytes over the bandwidth.
#include "ops/activation/piecewise_formula.h"
#include "ops/pointwise_ops_cpu.h"

namespace tw::ops {

using namespace device;

void kernels_piecewise(KernelTable& table) { add_piecewise(PointwiseOps<CpuLoops>(table)); }

}  // namespace tw::ops

// One pass; floor: the operands' bytes over the bandwidth (gcd and lcm: some divisions an element).
#include "ops/pointwise/logic_formula.h"
#include "ops/pointwise_ops_cpu.h"

namespace tw::ops {

using namespace device;

void kernels_logic(KernelTable& table) { add_logic(PointwiseOps<CpuLoops>(table)); }

}  // namespace tw::ops

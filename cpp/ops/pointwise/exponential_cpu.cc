// One pass. sqrt, rsqrt, reciprocal and square run at the bandwidth or the divider's rate; the others take 15
// to 40 operations an element.
#include "ops/pointwise/exponential_formula.h"
#include "ops/pointwise_ops_cpu.h"

namespace tw::ops {

using namespace device;

void kernels_exponential(KernelTable& table) { add_exponential(PointwiseOps<CpuLoops>(table)); }

}  // namespace tw::ops

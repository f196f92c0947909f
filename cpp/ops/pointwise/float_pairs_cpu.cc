// One pass, 5 to 50 operations an element.
#include "ops/pointwise/float_pairs_formula.h"
#include "ops/pointwise_ops_cpu.h"

namespace tw::ops {

using namespace device;

void kernels_float_pairs(KernelTable& table) { add_float_pairs(PointwiseOps<CpuLoops>(table)); }

}  // namespace tw::ops

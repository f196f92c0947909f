// abs, sign, sgn. Bytes: the operands' once. Floor: bytes over the bandwidth.
//
// Per element: 8 bytes and 1 operation (abs, float32).
#include "cuda/common/pointwise.h"
#include "ops/pointwise/magnitude_formula.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

void abs_kernel(KernelContext& k) {
  dispatch_real(k.in(0).dtype, k.op, [&]<class T>() { pointwise<T, T>(k, ops::AbsFormula()); });
}
void sgn_kernel(KernelContext& k) {
  dispatch_real_bool(k.in(0).dtype, k.op, [&]<class T>() { pointwise<T, T>(k, ops::DirectionFormula()); });
}

}  // namespace

void kernels_magnitude(device::KernelTable& table) {
  table.add("abs", abs_kernel);
  table.add("sign", sgn_kernel);
  table.add("sgn", sgn_kernel);
}

}  // namespace tw::cuda

// maximum, minimum, fmax, fmin, clamp. Bytes: the operands' once. Floor: bytes over the bandwidth.
//
// Per element: 12 bytes and 2 operations (maximum, float32).
#include "cuda/common/pointwise_ops.h"
#include "ops/pointwise/extremes_formula.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

void clamp_kernel(KernelContext& k) {
  dispatch_real_bool(k.out().dtype, k.op, [&]<class T>() {
    if (!k.in(2).present())
      pointwise_over(Types<T>{}, Types<T, T>{}, {&k.out()}, {&k.in(0), &k.in(1)}, k.op, ops::MaxFormula());
    else if (!k.in(1).present())
      pointwise_over(Types<T>{}, Types<T, T>{}, {&k.out()}, {&k.in(0), &k.in(2)}, k.op, ops::MinFormula());
    else
      pointwise<T, T, T, T>(k, ops::ClampFormula());
  });
}

}  // namespace

void kernels_extremes(device::KernelTable& table) {
  ops::add_extremes(PointwiseOps(table));
  table.add("clamp", clamp_kernel);
}

}  // namespace tw::cuda

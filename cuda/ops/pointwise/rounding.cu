// floor, ceil, trunc, frac, round. Bytes: the operands' once. Floor: bytes over the bandwidth. Integers are
// copied.
//
// Per element: 8 bytes and 1 operation (floor, float32).
#include "ops/pointwise/rounding.h"

#include "cuda/common/copy.h"
#include "cuda/common/functions.h"
#include "ops/pointwise/rounding_formula.h"

namespace tw::cuda {

using device::KernelContext;
using namespace ops;

namespace {

template <class F>
void rounding_kernel(KernelContext& k) {
  if (is_integral(k.in(0).dtype)) return copy_cast(k.out(), k.in(0), k.op);
  unary_kernel<F>(k);
}

void round_kernel(KernelContext& k) {
  int64_t decimals = k.attrs<RoundAttrs>().decimals;
  if (decimals == 0 || is_integral(k.in(0).dtype)) return rounding_kernel<RoundFormula>(k);
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    if (decimals > 0)
      pointwise<T, T>(k, RoundToFormula<C, false>::of(decimals));
    else
      pointwise<T, T>(k, RoundToFormula<C, true>::of(decimals));
  });
}

}  // namespace

void kernels_rounding(device::KernelTable& table) {
  table.add("floor", rounding_kernel<FloorFormula>);
  table.add("ceil", rounding_kernel<CeilFormula>);
  table.add("trunc", rounding_kernel<TruncFormula>);
  table.add("frac", rounding_kernel<FracFormula>);
  table.add("round", round_kernel);
}

}  // namespace tw::cuda

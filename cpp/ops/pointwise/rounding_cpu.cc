// One pass; floor: the operands' bytes over the bandwidth. Integers are copied.
#include "device/cpu/cast.h"
#include "device/cpu/loops.h"
#include "ops/pointwise/rounding.h"
#include "ops/pointwise/rounding_formula.h"

namespace tw::ops {

using namespace device;

namespace {

template <class F>
void rounding_kernel(KernelContext& k) {
  if (is_integral(k.in(0).dtype)) return copy_cast(k.out(), k.in(0));
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { unary_loop<T, T>(k, F()); });
}

void round_kernel(KernelContext& k) {
  if (is_integral(k.in(0).dtype)) return copy_cast(k.out(), k.in(0));
  int64_t decimals = k.attrs<RoundAttrs>().decimals;
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    if (decimals == 0)
      unary_loop<T, T>(k, RoundFormula());
    else if (decimals > 0)
      unary_loop<T, T>(k, RoundToFormula<C, false>::of(decimals));
    else
      unary_loop<T, T>(k, RoundToFormula<C, true>::of(decimals));
  });
}

}  // namespace

void kernels_rounding(KernelTable& table) {
  table.add("floor", rounding_kernel<FloorFormula>);
  table.add("ceil", rounding_kernel<CeilFormula>);
  table.add("trunc", rounding_kernel<TruncFormula>);
  table.add("frac", rounding_kernel<FracFormula>);
  table.add("round", round_kernel);
}

}  // namespace tw::ops

// One pass; floor: the operands' bytes over the bandwidth. Integers are copied.
#include "device/cpu/cast.h"
#include "ops/pointwise/rounding.h"
#include "ops/pointwise/rounding_formula.h"
#include "ops/pointwise_ops_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

struct RoundingOps : PointwiseOps<CpuLoops> {
  using PointwiseOps::PointwiseOps;

  template <class F>
  void floats_or_copied(const char* op, F) {
    table_.add(op, [](KernelContext& k) {
      if (is_integral(k.in(0).dtype)) return copy_cast(k.out(), k.in(0));
      dispatch_float(k.out().dtype, k.op, pass<F>(k));
    });
  }
};

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
  add_rounding(RoundingOps(table));
  table.add("round", round_kernel);
}

}  // namespace tw::ops

// floor, ceil, trunc, frac, round. Bytes: the operands' once. Floor: bytes over the bandwidth. Integers are
// copied.
//
// Per element: 8 bytes and 1 operation (floor, float32).
#include "ops/pointwise/rounding.h"

#include "cuda/common/copy.h"
#include "cuda/common/pointwise_ops.h"
#include "ops/pointwise/rounding_formula.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

struct RoundingOps : PointwiseOps {
  using PointwiseOps::PointwiseOps;

  template <class F>
  void floats_or_copied(const char* op, F) {
    table_.add(op, rounding_kernel<F>);
  }
  template <class F>
  static void rounding_kernel(KernelContext& k) {
    if (is_integral(k.in(0).dtype)) return copy_cast(k.out(), k.in(0), k.op);
    dispatch_float(k.out().dtype, k.op, pass<F>(k));
  }
};

void round_kernel(KernelContext& k) {
  int64_t decimals = k.attrs<ops::RoundAttrs>().decimals;
  if (decimals == 0 || is_integral(k.in(0).dtype)) return RoundingOps::rounding_kernel<ops::RoundFormula>(k);
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    if (decimals > 0)
      pointwise<T, T>(k, ops::RoundToFormula<C, false>::of(decimals));
    else
      pointwise<T, T>(k, ops::RoundToFormula<C, true>::of(decimals));
  });
}

}  // namespace

void kernels_rounding(device::KernelTable& table) {
  ops::add_rounding(RoundingOps(table));
  table.add("round", round_kernel);
}

}  // namespace tw::cuda

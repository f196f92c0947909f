// floor, ceil, trunc, frac, round. Bytes: the operands' once. Floor: bytes over the bandwidth. Integers are
// copied.
#include "ops/pointwise/rounding.h"

#include "cuda/common/copy.h"
#include "cuda/common/functions.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

TW_FUNCTION(Floor, std::floor(x))
TW_FUNCTION(Ceil, std::ceil(x))
TW_FUNCTION(Trunc, std::trunc(x))
TW_FUNCTION(Frac, x - std::trunc(x))
TW_FUNCTION(Round, std::nearbyint(x))

template <class C>
struct RoundTo {
  C factor;
  bool down;  // to multiples of the factor, not of its reciprocal
  TW_DEVICE C operator()(C x) const {
    return down ? std::nearbyint(x / factor) * factor : std::nearbyint(x * factor) / factor;
  }
};

template <class F>
void rounding_kernel(KernelContext& k) {
  if (is_integral(k.in(0).dtype)) return copy_cast(k.out(), k.in(0), k.op);
  unary_kernel<F>(k);
}

void round_kernel(KernelContext& k) {
  int64_t decimals = k.attrs<ops::RoundAttrs>().decimals;
  if (decimals == 0 || is_integral(k.in(0).dtype)) return rounding_kernel<Round>(k);
  double scale = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    pointwise<T, T>(k, RoundTo<C>{static_cast<C>(scale), decimals < 0});
  });
}

}  // namespace

void kernels_rounding(device::KernelTable& table) {
  table.add("floor", rounding_kernel<Floor>);
  table.add("ceil", rounding_kernel<Ceil>);
  table.add("trunc", rounding_kernel<Trunc>);
  table.add("frac", rounding_kernel<Frac>);
  table.add("round", round_kernel);
}

}  // namespace tw::cuda

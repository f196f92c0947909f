// One pass; floor: the operands' bytes over the bandwidth. Integers are copied.
#include <cmath>

#include "device/cpu/cast.h"
#include "device/cpu/loops.h"
#include "ops/pointwise/rounding.h"

namespace tw::ops {

using namespace device;

namespace {

struct Floor {
  template <class T>
  TW_INLINE T operator()(T a) const {
    return std::floor(a);
  }
};
struct Ceil {
  template <class T>
  TW_INLINE T operator()(T a) const {
    return std::ceil(a);
  }
};
struct Trunc {
  template <class T>
  TW_INLINE T operator()(T a) const {
    return std::trunc(a);
  }
};
struct Frac {
  template <class T>
  TW_INLINE T operator()(T a) const {
    return a - std::trunc(a);
  }
};

template <class F>
void rounding_kernel(KernelContext& k) {
  if (is_integral(k.in(0).dtype)) return copy_cast(k.out(), k.in(0));
  dispatch_float(k.out().dtype, k.op,
                 [&]<class T>() { unary_loop<T, T>(k, [](compute_t<T> a) { return F()(a); }); });
}

void round_kernel(KernelContext& k) {
  if (is_integral(k.in(0).dtype)) return copy_cast(k.out(), k.in(0));
  int64_t decimals = k.attrs<RoundAttrs>().decimals;
  double scale = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    C factor = static_cast<C>(scale);
    if (decimals == 0)
      unary_loop<T, T>(k, [](C a) { return std::nearbyint(a); });
    else if (decimals > 0)
      unary_loop<T, T>(k, [factor](C a) { return std::nearbyint(a * factor) / factor; });
    else
      unary_loop<T, T>(k, [factor](C a) { return std::nearbyint(a / factor) * factor; });
  });
}

}  // namespace

void kernels_rounding(KernelTable& table) {
  table.add("floor", rounding_kernel<Floor>);
  table.add("ceil", rounding_kernel<Ceil>);
  table.add("trunc", rounding_kernel<Trunc>);
  table.add("frac", rounding_kernel<Frac>);
  table.add("round", round_kernel);
}

}  // namespace tw::ops

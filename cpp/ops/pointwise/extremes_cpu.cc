// One pass; floor: the operands' bytes over the bandwidth.
#include "device/cpu/loops.h"

namespace tw::ops {

using namespace device;

namespace {

// a != a is false for integers, and the compiler drops it.
struct Max {
  template <class T>
  TW_INLINE T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};
struct Min {
  template <class T>
  TW_INLINE T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};
struct NumberMax {
  template <class T>
  TW_INLINE T operator()(T a, T b) const {
    return a > b || b != b ? a : b;
  }
};
struct NumberMin {
  template <class T>
  TW_INLINE T operator()(T a, T b) const {
    return a < b || b != b ? a : b;
  }
};

template <class F>
void extreme_kernel(KernelContext& k) {
  dispatch_real_bool(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    binary_loop<T, T, T>(k, [](C a, C b) -> C { return F()(a, b); });
  });
}

void clamp_kernel(KernelContext& k) {
  dispatch_real_bool(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    if (!k.in(2).present()) {
      binary_loop<T, T, T>(k.out(), k.in(0), k.in(1), [](C x, C low) -> C { return Max()(x, low); });
    } else if (!k.in(1).present()) {
      binary_loop<T, T, T>(k.out(), k.in(0), k.in(2), [](C x, C high) -> C { return Min()(x, high); });
    } else {
      ternary_loop<T, T, T, T>(k, [](C x, C low, C high) -> C { return Min()(Max()(x, low), high); });
    }
  });
}

}  // namespace

void kernels_extremes(KernelTable& table) {
  table.add("maximum", extreme_kernel<Max>);
  table.add("minimum", extreme_kernel<Min>);
  table.add("fmax", extreme_kernel<NumberMax>);
  table.add("fmin", extreme_kernel<NumberMin>);
  table.add("clamp", clamp_kernel);
}

}  // namespace tw::ops

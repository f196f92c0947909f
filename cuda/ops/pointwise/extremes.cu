// maximum, minimum, fmax, fmin, clamp. Bytes: the operands' once. Floor: bytes over the bandwidth.
#include "cuda/common/pointwise.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

// a != a is false for integers, and the compiler drops it.
struct Max {
  template <class C>
  TW_DEVICE C operator()(C a, C b) const {
    return a > b || a != a ? a : b;
  }
};
struct Min {
  template <class C>
  TW_DEVICE C operator()(C a, C b) const {
    return a < b || a != a ? a : b;
  }
};
struct NumberMax {
  template <class C>
  TW_DEVICE C operator()(C a, C b) const {
    return a > b || b != b ? a : b;
  }
};
struct NumberMin {
  template <class C>
  TW_DEVICE C operator()(C a, C b) const {
    return a < b || b != b ? a : b;
  }
};
struct Clamp {
  template <class C>
  TW_DEVICE C operator()(C x, C low, C high) const {
    return Min()(Max()(x, low), high);
  }
};

template <class F>
void extreme_kernel(KernelContext& k) {
  dispatch_real_bool(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T, T>(k, F()); });
}

void clamp_kernel(KernelContext& k) {
  dispatch_real_bool(k.out().dtype, k.op, [&]<class T>() {
    if (!k.in(2).present())
      pointwise_over(Types<T>{}, Types<T, T>{}, {&k.out()}, {&k.in(0), &k.in(1)}, k.op, Max());
    else if (!k.in(1).present())
      pointwise_over(Types<T>{}, Types<T, T>{}, {&k.out()}, {&k.in(0), &k.in(2)}, k.op, Min());
    else
      pointwise<T, T, T, T>(k, Clamp());
  });
}

}  // namespace

void kernels_extremes(device::KernelTable& table) {
  table.add("maximum", extreme_kernel<Max>);
  table.add("minimum", extreme_kernel<Min>);
  table.add("fmax", extreme_kernel<NumberMax>);
  table.add("fmin", extreme_kernel<NumberMin>);
  table.add("clamp", clamp_kernel);
}

}  // namespace tw::cuda

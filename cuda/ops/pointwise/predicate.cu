// isnan, isinf, isfinite, isposinf, isneginf, signbit. Bytes: an element read, one byte written; integers are
// not read. Floor: bytes over the bandwidth.
#include <limits>

#include "cuda/common/functions.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

struct IsNan {
  static constexpr bool kOfIntegers = false;
  template <class C>
  TW_DEVICE bool operator()(C x) const {
    return x != x;
  }
};
struct IsFinite {
  static constexpr bool kOfIntegers = true;
  template <class C>
  TW_DEVICE bool operator()(C x) const {
    return x - x == 0;
  }
};
struct IsPosInf {
  static constexpr bool kOfIntegers = false;
  template <class C>
  TW_DEVICE bool operator()(C x) const {
    return x == std::numeric_limits<C>::infinity();
  }
};
struct IsNegInf {
  static constexpr bool kOfIntegers = false;
  template <class C>
  TW_DEVICE bool operator()(C x) const {
    return x == -std::numeric_limits<C>::infinity();
  }
};
struct IsInf {
  static constexpr bool kOfIntegers = false;
  template <class C>
  TW_DEVICE bool operator()(C x) const {
    return IsPosInf()(x) || IsNegInf()(x);
  }
};
struct Constant {
  bool value;
  TW_DEVICE bool operator()() const { return value; }
};
struct SignBit {
  template <class C>
  TW_DEVICE bool operator()(C x) const {
    if constexpr (std::is_floating_point_v<C>)
      return std::copysign(C(1), x) < C(0);
    else
      return std::is_signed_v<C> && x < C(0);
  }
};

template <class F>
void predicate_kernel(KernelContext& k) {
  if (kind_of(k.in(0).dtype) <= DTypeKind::kInt)
    return pointwise_over(Types<bool>{}, Types<>{}, {&k.out()}, {}, k.op, Constant{F::kOfIntegers});
  dispatch_float(k.in(0).dtype, k.op, [&]<class T>() { pointwise<T, bool>(k, F()); });
}

void signbit_kernel(KernelContext& k) {
  dispatch_real_bool(k.in(0).dtype, k.op, [&]<class T>() { pointwise<T, bool>(k, SignBit()); });
}

}  // namespace

void kernels_predicate(device::KernelTable& table) {
  table.add("isnan", predicate_kernel<IsNan>);
  table.add("isinf", predicate_kernel<IsInf>);
  table.add("isfinite", predicate_kernel<IsFinite>);
  table.add("isposinf", predicate_kernel<IsPosInf>);
  table.add("isneginf", predicate_kernel<IsNegInf>);
  table.add("signbit", signbit_kernel);
}

}  // namespace tw::cuda

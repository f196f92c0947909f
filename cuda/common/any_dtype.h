// Elements whose dtype a kernel is told when it runs, as the values that one type computes with: one kernel
// for several dtypes, where it is not the accesses of a dtype's own width that make it fast. All threads take
// the same branch.
//
//   Integers::visit(dtype, [&]<class T>() { ... });
#pragma once

#include "cuda/common/complex.h"
#include "cuda/common/element.h"

namespace tw::cuda {

template <class... T>
struct AnyOf {
  // body<T>() with that of the types which `dtype` names.
  template <class Body>
  TW_DEVICE static void visit(DType dtype, const Body& body) {
    (void)((dtype == dtype_of<T> && (body.template operator()<T>(), true)) || ...);
  }
  static bool has(DType dtype) { return ((dtype == dtype_of<T>) || ...); }
};

using Integers = AnyOf<int64_t, int32_t, int16_t, int8_t, uint8_t, bool>;
using Floats = AnyOf<float, bfloat16, float16, double>;

// The dtypes whose elements are computed with, or made of, values of type C.
template <class C>
struct FittingDTypes {
  using type = std::conditional_t<std::is_floating_point_v<C>, Floats, Integers>;
};
template <class R>
struct FittingDTypes<Complex<R>> {
  using type = AnyOf<Complex<float>, Complex<double>>;
};
template <class C>
using fitting_t = typename FittingDTypes<C>::type;

// A value as one of another width of its kind.
template <class To, class From>
TW_DEVICE To widened(From x) {
  if constexpr (requires { x.im; })
    return To{static_cast<decltype(To::re)>(x.re), static_cast<decltype(To::im)>(x.im)};
  else
    return static_cast<To>(x);
}

// Element i of memory of some dtype.
template <class C>
TW_DEVICE C load_as(const void* data, DType dtype, int64_t i) {
  C value{};
  fitting_t<C>::visit(
      dtype, [&]<class T>() { value = widened<C>(load<T>(static_cast<const stored_t<T>*>(data)[i])); });
  return value;
}
template <class C>
TW_DEVICE void store_as(void* data, DType dtype, int64_t i, C value) {
  fitting_t<C>::visit(
      dtype, [&]<class T>() { static_cast<stored_t<T>*>(data)[i] = store<T>(widened<compute_t<T>>(value)); });
}

}  // namespace tw::cuda

// See predicate.cc. kOfIntegers: the answer for those, which have no special values.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/dtype.h"
#include "base/formula.h"

namespace tw::ops {

struct IsNanFormula {
  static constexpr bool kOfIntegers = false;
  template <class C>
  TW_FORMULA bool operator()(C a) const {
    return a != a;
  }
};
struct IsFiniteFormula {
  static constexpr bool kOfIntegers = true;
  template <class C>
  TW_FORMULA bool operator()(C a) const {
    if constexpr (is_complex_type<C>)
      return (*this)(a.real()) & (*this)(a.imag());
    else
      return (a - a) == 0;
  }
};
struct IsPosInfFormula {
  static constexpr bool kOfIntegers = false;
  template <class C>
  TW_FORMULA bool operator()(C a) const {
    return a == std::numeric_limits<C>::infinity();
  }
};
struct IsNegInfFormula {
  static constexpr bool kOfIntegers = false;
  template <class C>
  TW_FORMULA bool operator()(C a) const {
    return a == -std::numeric_limits<C>::infinity();
  }
};
struct IsInfFormula {
  static constexpr bool kOfIntegers = false;
  template <class C>
  TW_FORMULA bool operator()(C a) const {
    if constexpr (is_complex_type<C>)
      return (*this)(a.real()) | (*this)(a.imag());
    else
      return IsPosInfFormula()(a) | IsNegInfFormula()(a);
  }
};
struct SignBitFormula {
  template <class C>
  TW_FORMULA bool operator()(C a) const {
    if constexpr (std::is_same_v<C, float>)
      return std::bit_cast<int32_t>(a) < 0;
    else if constexpr (std::is_same_v<C, double>)
      return std::bit_cast<int64_t>(a) < 0;
    else
      return std::is_signed_v<C> && a < C(0);
  }
};

// predicates, real_predicates: what the kernels make of kOfIntegers is theirs.
template <class Ops>
void add_predicate(Ops ops) {
  ops.predicates("isnan", IsNanFormula());
  ops.predicates("isinf", IsInfFormula());
  ops.predicates("isfinite", IsFiniteFormula());
  ops.real_predicates("isposinf", IsPosInfFormula());
  ops.real_predicates("isneginf", IsNegInfFormula());
  ops.reals_and_bools("signbit", SignBitFormula());
}

}  // namespace tw::ops

// See float_pairs.cc. M: the functions used.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/dtype.h"
#include "base/formula.h"
#include "ops/complex_formula.h"

namespace tw::ops {

template <class M>
struct LogAddExpFormula {
  template <class C>
  TW_FORMULA C operator()(C a, C b) const {
    C high = a > b ? a : b, distance = std::fabs(a - b);
    C sum = high + M::log1p(M::exp(-distance));
    return a == b ? high + C(0.6931471805599453) : sum;  // equal infinities have no distance
  }
  template <class Z>
  TW_FORMULA static Z of_complex(Z a, Z b) {
    return complex_logaddexp(a, b);
  }
};
template <class M>
struct LogAddExp2Formula {
  template <class C>
  TW_FORMULA C operator()(C a, C b) const {
    C high = a > b ? a : b, distance = std::fabs(a - b);
    C sum = high + M::log1p(M::exp2(-distance)) * C(1.4426950408889634);
    return a == b ? high + C(1) : sum;
  }
};

template <class M>
struct HypotFormula {
  template <class C>
  TW_FORMULA C operator()(C a, C b) const {
    return M::hypot(a, b);
  }
};
struct CopySignFormula {
  template <class C>
  TW_FORMULA C operator()(C a, C b) const {
    return std::copysign(a, b);
  }
};

template <class M>
struct XLogYFormula {
  template <class C>
  TW_FORMULA C operator()(C a, C b) const {
    C product = a * M::log(b);
    return b != b ? b : a == C(0) ? C(0) : product;
  }
};
template <class M>
struct XLog1pYFormula {
  template <class C>
  TW_FORMULA C operator()(C a, C b) const {
    C product = a * M::log1p(b);
    return b != b ? b : a == C(0) ? C(0) : product;
  }
};

// The value next to `a` on the way to `b`. Those of a 16-bit float are numbered by its bits, its sign apart.
template <class T>
struct NextAfterFormula {
  using C = compute_t<T>;
  TW_FORMULA C operator()(C a, C b) const {
    if constexpr (is_half_type<T>) {
      if (a != a) return a;
      if (b != b || a == b) return b;
      T next(a);
      if (a == 0)
        next.bits = static_cast<uint16_t>(b < 0 ? 0x8001 : 0x0001);
      else
        next.bits = static_cast<uint16_t>(next.bits + ((a < b) == (a > 0) ? 1 : -1));
      return next;
    } else {
      return std::nextafter(a, b);
    }
  }
};

struct HeavisideFormula {
  template <class C>
  TW_FORMULA C operator()(C a, C b) const {
    return a == C(0) ? b : static_cast<C>(a > C(0));
  }
};

template <class Ops>
void add_float_pairs(Ops ops) {
  using M = typename Ops::Functions;
  ops.floats("logaddexp", LogAddExpFormula<M>());
  ops.floats("logaddexp2", LogAddExp2Formula<M>());
  ops.floats("hypot", HypotFormula<M>());
  ops.floats("copysign", CopySignFormula());
  ops.floats("xlogy", XLogYFormula<M>());
  ops.floats("special_xlog1py", XLog1pYFormula<M>());
  ops.template typed_floats<NextAfterFormula>("nextafter");
  ops.reals_and_bools("heaviside", HeavisideFormula());
}

}  // namespace tw::ops

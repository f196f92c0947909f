// The p-norm (Σ |x|^p)^(1/p) of multi_tensor_norm and of CUDA's vector_norm: what becomes of an element, of
// two parts, and of the whole. Those of order ±inf are the largest and the smallest |x|; that of order 0
// counts what is not 0. (The CPU's vector_norm, which reads rows from the cache, is half as fast through it.)
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "base/formula.h"

namespace tw::ops {

enum class NormOrder { kZero, kOne, kTwo, kMost, kLeast, kOther };

inline NormOrder norm_order(double p) {
  if (std::isinf(p)) return p > 0 ? NormOrder::kMost : NormOrder::kLeast;
  return p == 0 ? NormOrder::kZero : p == 1 ? NormOrder::kOne : p == 2 ? NormOrder::kTwo : NormOrder::kOther;
}

// In C, with the powers of M. Order: NormOrder or, for loops that shall not ask each element, a constant.
template <class M, class C, class Order = NormOrder>
struct NormFormula {
  Order order;
  C p, inverse;

  static NormFormula of(double p, Order order) { return {order, C(p), C(1 / p)}; }

  TW_FORMULA C none() const { return order == NormOrder::kLeast ? std::numeric_limits<C>::infinity() : C(0); }
  TW_FORMULA C map(C x) const {
    if (order == NormOrder::kZero) return C(x != C(0));
    if (order == NormOrder::kTwo) return x * x;
    C size = std::fabs(x);
    return order == NormOrder::kOther ? M::pow(size, p) : size;
  }
  TW_FORMULA C combine(C a, C b) const {
    if (order == NormOrder::kMost) return (b > a) | (b != b) ? b : a;  // NaN wins
    if (order == NormOrder::kLeast) return (b < a) | (b != b) ? b : a;
    return a + b;
  }
  TW_FORMULA C finish(C total) const {
    if (order == NormOrder::kTwo) return std::sqrt(total);
    return order == NormOrder::kOther ? std::pow(total, inverse) : total;
  }
};

// body(order) with the order as a constant.
template <class Body>
auto dispatch_norm_order(double p, Body&& body) {
  auto call = [&]<NormOrder kOrder>() { return body(std::integral_constant<NormOrder, kOrder>()); };
  switch (norm_order(p)) {
    case NormOrder::kZero:
      return call.template operator()<NormOrder::kZero>();
    case NormOrder::kOne:
      return call.template operator()<NormOrder::kOne>();
    case NormOrder::kTwo:
      return call.template operator()<NormOrder::kTwo>();
    case NormOrder::kMost:
      return call.template operator()<NormOrder::kMost>();
    case NormOrder::kLeast:
      return call.template operator()<NormOrder::kLeast>();
    default:
      return call.template operator()<NormOrder::kOther>();
  }
}

}  // namespace tw::ops

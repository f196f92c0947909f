// What scans carry, and how they join: for the kernels of CPU and CUDA.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "base/dtype.h"
#include "base/formula.h"

namespace tw::ops {

// What a chain of T is carried in: floats add up and multiply in double, since a chain, unlike a tree,
// gathers the rounding of every step.
template <class T>
struct Chain {
  using type = std::conditional_t<std::is_floating_point_v<compute_t<T>>, double, sum_t<T>>;
};
template <class T>
using chain_t = typename Chain<T>::type;

// log(exp(a) + exp(b)) without overflow.
template <class C>
TW_FORMULA C log_of_sum(C a, C b) {
  constexpr C kInf = std::numeric_limits<C>::infinity();
  if (a != a || b != b) return a + b;
  C high = a > b ? a : b, low = a > b ? b : a;
  if (high == kInf || high == -kInf) return high;
  return high + std::log1p(std::exp(low - high));
}

// Whether x is the new extremum of what it comes after: the last of equals is, and a NaN for good.
template <bool kLargest, class V>
TW_FORMULA bool takes_over(V x, V best) {
  return (kLargest ? x >= best : x <= best) || x != x;
}

}  // namespace tw::ops

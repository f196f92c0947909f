// Ops that are one function of floating elements, in float for the half types:
//
//   TW_FUNCTION(Exp, std::exp(x))
//   table.add("exp", unary_kernel<Exp>);
#pragma once

#include <cmath>

#include "cuda/common/pointwise.h"

namespace tw::cuda {

#define TW_FUNCTION(NAME, ...)          \
  struct NAME {                         \
    template <class C>                  \
    TW_DEVICE C operator()(C x) const { \
      return __VA_ARGS__;               \
    }                                   \
  };
// Of a gradient g and an input or a result.
#define TW_BINARY_FUNCTION(NAME, ...)        \
  struct NAME {                              \
    template <class C>                       \
    TW_DEVICE C operator()(C g, C x) const { \
      return __VA_ARGS__;                    \
    }                                        \
  };

template <class F>
void unary_kernel(device::KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T>(k, F()); });
}
template <class F>
void binary_kernel(device::KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T, T>(k, F()); });
}

template <class C>
TW_DEVICE C sigmoid_of(C x) {
  return C(1) / (C(1) + std::exp(-x));
}
// log(1 + exp(x)) without overflow.
template <class C>
TW_DEVICE C softplus_of(C x) {
  C rest = std::log1p(std::exp(-std::fabs(x)));
  return x > C(0) ? x + rest : rest;
}

}  // namespace tw::cuda

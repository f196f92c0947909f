// Elementary functions for float and double that vectorise: no branches, no tables, no calls (but for those
// named below), to be used in loops under TW_CLONES. The right results for infinities, NaN, denormals and
// signed zeros.
//
// Bounds of the error in units of the last place, held by tests/cpp/device/math_test.cc:
//   float    1: log log1p log2 log10 sin cos tan asin acos atan atan2 asinh acosh atanh erfc erfinv pow
//            1.5: exp exp2 cosh   2: expm1 softplus   2.5: sinh tanh sigmoid   3: erf
//   double   1: log log1p sin cos   1.5: exp exp2   2: expm1 log2 log10 cosh acosh asinh atan erf softplus
//            2.5: sinh tanh tan atanh asin acos atan2 sigmoid   3: erfc erfinv
// exp_nonpositive is as exact as exp, but gives 0 for x below -87.68 (float) and -708.74; sigmoid does
// likewise. normal_tail's tail is off by at most 5 units and 1.25 x² more of them. Functions of float that
// are rare compute in double, at about half the speed. sin, cos and tan hold for |x| <= kTrigLimit. Beyond it
// they are wrong: kernels give pointwise_loop the functors Sin, Cos and Tan, whose `special` sends such
// elements to the C library. pow of double, lgamma and digamma are scalar (the first two by the C library).
#pragma once

#include "device/cpu/math_exponential.h"
#include "device/cpu/math_special.h"
#include "device/cpu/math_trigonometric.h"

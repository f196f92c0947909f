// The gamma function's relatives that no C library has, for both devices.
#pragma once

#include <cmath>
#include <limits>

#include "base/formula.h"

namespace tw {

// The derivative of lgamma: reflection for negative x, recurrence up to 10, then the asymptotic series. -inf
// at +0, inf at -0, NaN at the negative whole numbers and at -inf.
TW_FORMULA double digamma(double x) {
  constexpr double kPi = 3.141592653589793, kInfinity = std::numeric_limits<double>::infinity();
  if (x == 0) return std::copysign(kInfinity, -x);
  double reflected = 0;
  if (x < 0) {
    if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    double rest = x - std::trunc(x);  // keeps the tangent accurate for large |x|
    reflected = kPi / std::tan(kPi * rest);
    x = 1 - x;
  }
  double sum = 0;
  for (; x < 10; x += 1) sum -= 1 / x;
  double z = 1 / (x * x);
  double series =
      z *
      (1.0 / 12 -
       z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
  return sum + (std::log(x) - 0.5 / x - series) - reflected;
}

// Hurwitz's zeta function, the sum of (k + q)^-s over k = 0, 1, ...: some terms, then Euler and Maclaurin's
// formula for the rest.
TW_FORMULA double zeta(double s, double q) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                   kInfinity = std::numeric_limits<double>::infinity();
  if (s == 1) return kInfinity;
  if (!(s > 1) || q != q) return kNan;
  if (q <= 0) {
    if (q == std::floor(q)) return kInfinity;
    if (s != std::floor(s)) return kNan;
  }
  double sum = 0, a = q;
  for (int i = 0; i < 9 || a <= 9; i++, a += 1) {
    double term = std::pow(a, -s);
    sum += term;
    if (std::fabs(term) < sum * 1e-17) return sum;
  }
  sum += std::pow(a, 1 - s) / (s - 1) + 0.5 * std::pow(a, -s);
  // B(2j) / (2j)! with B the Bernoulli numbers
  constexpr double kCoefficients[] = {1.0 / 12,
                                      -1.0 / 720,
                                      1.0 / 30240,
                                      -1.0 / 1209600,
                                      1.0 / 47900160,
                                      -691.0 / 1307674368000.0,
                                      1.0 / 74724249600.0,
                                      -3617.0 / 10670622842880000.0,
                                      43867.0 / 5109094217170944000.0};
  double factor = s, power = std::pow(a, -s - 1);
  int j = 1;
  for (double coefficient : kCoefficients) {
    double term = coefficient * factor * power;
    sum += term;
    if (std::fabs(term) < std::fabs(sum) * 1e-17) break;
    factor *= (s + j) * (s + j + 1);
    power /= a * a;
    j += 2;
  }
  return sum;
}

}  // namespace tw

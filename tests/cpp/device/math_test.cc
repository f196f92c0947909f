// The error bounds that math.h states, against the C library in long double, through vectorised loops.
#include "device/cpu/math.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "device/cpu/clones.h"
#include "test.h"

namespace tw::math {

namespace {

template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();
template <class T>
constexpr T kNotANumber = std::numeric_limits<T>::quiet_NaN();

// Values of both signs, uniform in [low, high] and log-uniform over all exponents there; and special ones.
template <class T>
std::vector<T> inputs(double low, double high, unsigned seed, int count = 200000) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> even(low, high), unit(0, 1);
  double smallest = std::numeric_limits<T>::denorm_min();
  std::vector<T> values = {T(0),
                           T(-0.0),
                           T(1),
                           T(-1),
                           T(0.5),
                           T(-0.5),
                           T(2),
                           T(10),
                           T(-10),
                           kInfinity<T>,
                           -kInfinity<T>,
                           kNotANumber<T>,
                           std::numeric_limits<T>::max(),
                           -std::numeric_limits<T>::max(),
                           std::numeric_limits<T>::min(),
                           T(smallest),
                           T(-smallest),
                           T(low),
                           T(high)};
  for (int i = 0; i < count; i++) {
    values.push_back(static_cast<T>(even(random)));
    double size = std::exp(std::log(smallest) +
                           unit(random) * (std::log(std::max(std::abs(low), high)) - std::log(smallest)));
    double value = random() % 2 ? size : -size;
    if (value >= low && value <= high) values.push_back(static_cast<T>(value));
  }
  return values;
}

// The distance to the wanted value in units of the last place of T there.
template <class T>
double ulps(T got, long double wanted) {
  if (std::isnan(wanted)) return std::isnan(got) ? 0 : INFINITY;
  T rounded = static_cast<T>(wanted);
  if (std::isinf(rounded) || std::isinf(got)) {
    if (got == rounded) return 0;
    // one of them just reached infinity
    bool near = std::abs(wanted) > 0.9999999L * std::numeric_limits<T>::max() &&
                std::signbit(got) == std::signbit(rounded);
    return near && !std::isnan(got) && std::abs(got) > std::numeric_limits<T>::max() * T(0.9999) ? 1
                                                                                                 : INFINITY;
  }
  if (rounded == 0 && got == 0) return std::signbit(rounded) == std::signbit(got) ? 0 : INFINITY;
  T size = std::max(std::abs(rounded), std::numeric_limits<T>::min());
  long double unit = static_cast<long double>(std::nextafter(size, kInfinity<T>)) - size;
  return static_cast<double>(std::abs(static_cast<long double>(got) - wanted) / unit);
}

template <class T, class F>
TW_CLONES void apply(const T* in, T* out, size_t n, F f) {
#pragma GCC ivdep
  for (size_t i = 0; i < n; i++) out[i] = f(in[i]);
}
template <class T, class F>
TW_CLONES void apply(const T* a, const T* b, T* out, size_t n, F f) {
#pragma GCC ivdep
  for (size_t i = 0; i < n; i++) out[i] = f(a[i], b[i]);
}

template <class T, class F, class Exact>
void check_bound(const char* name, double low, double high, double bound, F f, Exact exact) {
  std::vector<T> in = inputs<T>(low, high, 5), out(in.size());
  apply(in.data(), out.data(), in.size(), f);
  double worst = 0;
  T at = 0;
  for (size_t i = 0; i < in.size(); i++) {
    double error = ulps(out[i], exact(static_cast<long double>(in[i])));
    if (error > worst) worst = error, at = in[i];
  }
  if (getenv("TW_SHOW_ULPS"))
    std::printf("%-10s %-6s %.3f at %.17g\n", name, sizeof(T) == 4 ? "float" : "double", worst, double(at));
  if (!(worst <= bound))
    test::fail(__FILE__, __LINE__,
               std::string(name) + ": error " + std::to_string(worst) + " ulp at " + test::show(at));
}

// As math.h says: 0 from where the power of two next to exp(x) is denormal on.
template <class T>
long double without_denormals(long double x, long double value) {
  return x < (sizeof(T) == 4 ? -126.5L : -1022.5L) * std::log(2.0L) ? 0 : value;
}
long double softplus_exact(long double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

// Newton's step on the C library's erfc, from our value.
long double erfinv_exact(long double x) {
  if (std::isnan(x) || std::abs(x) > 1) return NAN;
  if (std::abs(x) == 1) return std::copysign(INFINITY, x);
  if (x == 0) return x;
  long double a = std::abs(x), y = erfinv(static_cast<double>(a));
  for (int i = 0; i < 3; i++) {
    long double residual = y < 0.5L ? std::erf(y) - a : (1 - a) - std::erfc(y);
    y -= residual / (2 / std::sqrt(acosl(-1.0L)) * std::exp(-y * y));
  }
  return std::copysign(y, x);
}

}  // namespace

#define CHECK_MATH(T, NAME, LOW, HIGH, BOUND)                     \
  check_bound<T>(                                                 \
      #NAME, LOW, HIGH, BOUND, [](T x) { return math::NAME(x); }, \
      [](long double x) { return std::NAME(x); })

#define CHECK_BOTH(NAME, LOW_F, HIGH_F, BOUND_F, LOW_D, HIGH_D, BOUND_D) \
  TEST(math_##NAME) {                                                    \
    CHECK_MATH(float, NAME, LOW_F, HIGH_F, BOUND_F);                     \
    CHECK_MATH(double, NAME, LOW_D, HIGH_D, BOUND_D);                    \
  }

CHECK_BOTH(exp, -105, 90, 1.5, -750, 712, 1.5)
CHECK_BOTH(exp2, -151, 129, 1.5, -1080, 1026, 1.5)
CHECK_BOTH(expm1, -40, 90, 2, -60, 712, 2)
CHECK_BOTH(log, 0, 3e38, 1, 0, 1e308, 1)
CHECK_BOTH(log1p, -1, 3e38, 1, -1, 1e308, 1)
CHECK_BOTH(log2, 0, 3e38, 1, 0, 1e308, 2)
CHECK_BOTH(log10, 0, 3e38, 1, 0, 1e308, 2)
CHECK_BOTH(sinh, -89.6, 89.6, 2.5, -711, 711, 2.5)
CHECK_BOTH(cosh, -89.6, 89.6, 1.5, -711, 711, 2)
CHECK_BOTH(tanh, -12, 12, 2.5, -25, 25, 2.5)
CHECK_BOTH(asinh, -1e38, 1e38, 1, -1e308, 1e308, 2)
CHECK_BOTH(acosh, 1, 1e38, 1, 1, 1e308, 2)
CHECK_BOTH(atanh, -1, 1, 1, -1, 1, 2.5)
CHECK_BOTH(asin, -1, 1, 1, -1, 1, 2.5)
CHECK_BOTH(acos, -1, 1, 1, -1, 1, 2.5)
CHECK_BOTH(atan, -1e3, 1e3, 1, -1e3, 1e3, 2)
CHECK_BOTH(erf, -5, 5, 3, -7, 7, 2)
CHECK_BOTH(erfc, -5, 10.5, 1, -7, 27.5, 3)
CHECK_BOTH(lgamma, -30, 1e5, 1, 0.1, 1e5, 4)

// Near logarithms' zero, where relative accuracy is hardest.
TEST(math_logs_near_one) {
  CHECK_MATH(float, log, 0.5, 2, 1);
  CHECK_MATH(double, log, 0.5, 2, 1);
  CHECK_MATH(double, log2, 0.5, 2, 2);
  CHECK_MATH(double, log10, 0.5, 2, 2);
  CHECK_MATH(float, log1p, -0.9, 1, 1);
  CHECK_MATH(double, log1p, -0.9, 1, 1);
}

TEST(math_sin_cos_tan) {
  auto check = []<class T>(double limit, double bound, double tan_bound) {
    auto inside = [](auto f) { return [f](T x) { return Sin::special(x) ? T(0) : f(x); }; };
    auto exact = [](auto f) {
      return [f](long double x) { return std::abs(x) > kTrigLimit ? (std::isnan(x) ? x : 0.0L) : f(x); };
    };
    check_bound<T>("sin", -limit, limit, bound, inside([](T x) { return sin(x); }),
                   exact([](long double x) { return std::sin(x); }));
    check_bound<T>("cos", -limit, limit, bound, inside([](T x) { return cos(x); }),
                   exact([](long double x) { return std::cos(x); }));
    check_bound<T>("tan", -limit, limit, tan_bound, inside([](T x) { return tan(x); }),
                   exact([](long double x) { return std::tan(x); }));
  };
  for (double limit : {4.0, 100.0, kTrigLimit}) {
    check.operator()<float>(limit, 1, 1);
    check.operator()<double>(limit, 1, 2.5);
  }
  // multiples of pi/2, as near as they get
  for (int n = 1; n < 600000; n += 997) {
    double x = n * 1.57079632679489661923;
    CHECK_LE(ulps(sin(x), std::sin(static_cast<long double>(x))), 1);
    CHECK_LE(ulps(cos(x), std::cos(static_cast<long double>(x))), 1);
    CHECK_LE(ulps(tan(x), std::tan(static_cast<long double>(x))), 2.5);
  }
  CHECK(std::isnan(sin(kInfinity<float>)) && std::isnan(cos(-kInfinity<double>)) &&
        std::isnan(tan(kInfinity<double>)));
}

TEST(math_exp_nonpositive) {
  auto check = []<class T>(double low) {
    auto nonpositive = [](T x) { return x > 0 ? -x : x; };
    check_bound<T>(
        "exp_nonpositive", low, 0, 1.5, [=](T x) { return exp_nonpositive(nonpositive(x)); },
        [=](long double x) {
          long double y = nonpositive(static_cast<T>(x));
          return without_denormals<T>(y, std::exp(y));
        });
  };
  check.operator()<float>(-200);
  check.operator()<double>(-1000);
}

TEST(math_sigmoid_softplus_erfinv) {
  auto check = []<class T>(double low, double sigmoid_bound, double softplus_bound, double erfinv_bound) {
    check_bound<T>(
        "sigmoid", low, 50, sigmoid_bound, [](T x) { return sigmoid(x); },
        [](long double x) { return without_denormals<T>(x, 1 / (1 + std::exp(-x))); });
    check_bound<T>("softplus", low, 50, softplus_bound, [](T x) { return softplus(x); }, softplus_exact);
    check_bound<T>("erfinv", -1, 1, erfinv_bound, [](T x) { return erfinv(x); }, erfinv_exact);
  };
  check.operator()<float>(-105, 2.5, 2, 1);
  check.operator()<double>(-745, 2.5, 2, 3);
}

TEST(math_normal_tail) {
  auto check = []<class T>(double few) {
    for (T x : inputs<T>(-12.5, 12.5, 7)) {
      if (!(std::abs(x) <= 12.5)) continue;
      NormalTail<T> t = normal_tail(x);
      long double a = std::abs(static_cast<long double>(x));
      CHECK_LE(ulps<T>(t.bell, std::exp(-a * a / 2)), few + 1.25 * a * a);
      CHECK_LE(ulps<T>(t.bell * t.mills, std::erfc(a * std::sqrt(0.5L)) / 2), few + 2 + 1.25 * a * a);
    }
    CHECK(normal_tail(kInfinity<T>).bell == 0 && normal_tail(T(-1e30)).bell == 0);
    CHECK(std::isnan(normal_tail(kNotANumber<T>).bell));
  };
  check.operator()<float>(3);
  check.operator()<double>(3);
}

template <class T, class F, class Exact>
void check_pairs(const char* name, std::vector<T> a, std::vector<T> b, double bound, F f, Exact exact) {
  a.resize(std::min(a.size(), b.size()));
  for (int round = 0; round < 24; round++) {  // specials stand first: bring them all together
    std::vector<T> out(a.size());
    apply(a.data(), b.data(), out.data(), a.size(), f);
    for (size_t i = 0; i < a.size(); i++) {
      double error = ulps(out[i], exact(static_cast<long double>(a[i]), static_cast<long double>(b[i])));
      if (!(error <= bound))
        test::fail(__FILE__, __LINE__,
                   std::string(name) + ": error " + std::to_string(error) + " ulp at " + test::show(a[i]) +
                       ", " + test::show(b[i]));
    }
    std::rotate(a.begin(), a.begin() + 1, a.begin() + std::min<size_t>(a.size(), 24));
  }
}

TEST(math_atan2) {
  auto exact = [](long double y, long double x) { return std::atan2(y, x); };
  check_pairs(
      "atan2", inputs<float>(-10, 10, 1, 20000), inputs<float>(-10, 10, 2, 20000), 1,
      [](float y, float x) { return atan2(y, x); }, exact);
  check_pairs(
      "atan2", inputs<double>(-1e308, 1e308, 1, 20000), inputs<double>(-1e308, 1e308, 2, 20000), 2.5,
      [](double y, double x) { return atan2(y, x); }, exact);
}

TEST(math_pow) {
  std::vector<float> y = inputs<float>(-12, 12, 2, 20000);
  for (size_t i = 30; i < y.size(); i += 2) y[i] = std::round(y[i]);
  check_pairs(
      "pow", inputs<float>(-50, 50, 1, 20000), y, 1, [](float x, float p) { return pow(x, p); },
      [](long double x, long double p) { return std::pow(x, p); });
}

TEST(math_digamma) {
  // psi(x + 1) - psi(x) = 1 / x, and known values
  const double kEuler = 0.57721566490153286061;
  CHECK_NEAR(digamma(1.0), -kEuler, 2e-15);
  CHECK_NEAR(digamma(0.5), -kEuler - 2 * std::log(2.0), 1e-15);
  CHECK_NEAR(digamma(100.0), 4.6001618527380874002, 2e-15);
  CHECK_NEAR(digamma(-0.5), 0.03648997397857652056, 2e-15);
  for (double x = -20.3; x < 30; x += 0.37)
    CHECK_NEAR(digamma(x + 1) - digamma(x), 1 / x, 1e-13 * (1 + std::abs(1 / x)));
  CHECK_EQ(digamma(0.0), -kInfinity<double>);
  CHECK_EQ(digamma(-0.0), kInfinity<double>);
  CHECK(std::isnan(digamma(-3.0)) && std::isnan(digamma(kNotANumber<double>)));
  CHECK_EQ(digamma(kInfinity<double>), kInfinity<double>);
}

}  // namespace tw::math

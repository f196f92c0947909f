// One pass, 5 to 50 operations an element.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/complex_formula.h"
#include "ops/pointwise/float_pairs_formula.h"
#include "ops/pointwise/function_kernels.h"

namespace tw::ops {

using namespace device;

namespace {

struct LogAddExp {
  template <class T>
  TW_INLINE T operator()(T a, T b) const {
    T high = a > b ? a : b, distance = std::abs(a - b);
    T sum = high + math::log1p(math::exp(-distance));
    return a == b ? high + T(0.6931471805599453) : sum;  // equal infinities have no distance
  }
};
void logaddexp_kernel(KernelContext& k) {
  if (!is_complex(k.out().dtype)) return binary_kernel<LogAddExp>(k);
  dispatch_float_complex(k.out().dtype, k.op, [&]<class T>() {
    if constexpr (is_complex_type<T>)
      binary_loop<T, T, T>(k, [](T a, T b) { return complex_logaddexp(a, b); });
  });
}
struct LogAddExp2 {
  template <class T>
  TW_INLINE T operator()(T a, T b) const {
    T high = a > b ? a : b, distance = std::abs(a - b);
    T sum = high + math::log1p(math::exp2(-distance)) * T(1.4426950408889634);
    return a == b ? high + T(1) : sum;
  }
};
// Vectorises, unlike libm's, whose symbol would also ask for a younger C library (2.35) than all else does.
struct Hypot {
  TW_INLINE float operator()(float a, float b) const {
    double x = a, y = b;  // whose squares stay in range
    return infinite(x, y) ? kInfinity : std::sqrt(x * x + y * y);
  }
  TW_INLINE double operator()(double a, double b) const {
    double larger = std::max(std::abs(a), std::abs(b));
    double scale = larger > 0x1p500 ? 0x1p-600 : larger < 0x1p-500 ? 0x1p600 : 1;
    double x = a * scale, y = b * scale;
    return infinite(a, b) ? kInfinity : std::sqrt(x * x + y * y) / scale;
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static TW_INLINE bool infinite(double a, double b) {
    return std::abs(a) == kInfinity || std::abs(b) == kInfinity;  // beside a NaN too
  }
};
struct CopySign {
  template <class T>
  TW_INLINE T operator()(T a, T b) const {
    return std::copysign(a, b);
  }
};
struct XLogY {
  template <class T>
  TW_INLINE T operator()(T a, T b) const {
    T product = a * math::log(b);
    return b != b ? b : a == T(0) ? T(0) : product;
  }
};
struct XLog1pY {
  template <class T>
  TW_INLINE T operator()(T a, T b) const {
    T product = a * math::log1p(b);
    return b != b ? b : a == T(0) ? T(0) : product;
  }
};

void nextafter_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { binary_loop<T, T, T>(k, NextAfterFormula<T>()); });
}
void heaviside_kernel(KernelContext& k) {
  dispatch_real_bool(k.out().dtype, k.op, [&]<class T>() { binary_loop<T, T, T>(k, HeavisideFormula()); });
}

}  // namespace

void kernels_float_pairs(KernelTable& table) {
  table.add("logaddexp", logaddexp_kernel);
  table.add("logaddexp2", binary_kernel<LogAddExp2>);
  table.add("hypot", binary_kernel<Hypot>);
  table.add("copysign", binary_kernel<CopySign>);
  table.add("xlogy", binary_kernel<XLogY>);
  table.add("special_xlog1py", binary_kernel<XLog1pY>);
  table.add("nextafter", nextafter_kernel);
  table.add("heaviside", heaviside_kernel);
}

}  // namespace tw::ops

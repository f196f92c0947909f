// One pass. sqrt, rsqrt, reciprocal and square run at the bandwidth or the divider's rate; the others take 15
// to 40 operations an element.
#include "ops/complex_formula.h"
#include "ops/pointwise/function_kernels.h"

namespace tw::ops {

using namespace device;

namespace {

constexpr double kLn2 = 0.6931471805599453;

TW_FUNCTION(Exp, math::exp(x), std::exp(z))
TW_FUNCTION(Exp2, math::exp2(x), std::exp(z* kLn2))
TW_FUNCTION(Expm1, math::expm1(x), complex_expm1(z))
TW_FUNCTION(Log, math::log(x), std::log(z))
TW_FUNCTION(Log2, math::log2(x), std::log(z) / kLn2)
TW_FUNCTION(Log10, math::log10(x), std::log10(z))
TW_FUNCTION(Log1p, math::log1p(x), complex_log1p(z))
TW_FUNCTION(Sqrt, std::sqrt(x), std::sqrt(z))
TW_FUNCTION(Rsqrt, T(1) / std::sqrt(x), 1.0 / std::sqrt(z))
TW_FUNCTION(Reciprocal, T(1) / x, 1.0 / z)

void square_kernel(KernelContext& k) {
  if (is_bool(k.in(0).dtype)) return unary_loop<bool, int64_t>(k, [](bool a) { return int64_t{a}; });
  dispatch_number(k.out().dtype, k.op,
                  [&]<class T>() { unary_loop<T, T>(k, [](compute_t<T> a) { return a * a; }); });
}

}  // namespace

void kernels_exponential(KernelTable& table) {
  table.add("exp", unary_kernel<Exp>);
  table.add("exp2", unary_kernel<Exp2>);
  table.add("expm1", unary_kernel<Expm1>);
  table.add("log", unary_kernel<Log>);
  table.add("log2", unary_kernel<Log2>);
  table.add("log10", unary_kernel<Log10>);
  table.add("log1p", unary_kernel<Log1p>);
  table.add("sqrt", unary_kernel<Sqrt>);
  table.add("rsqrt", unary_kernel<Rsqrt>);
  table.add("reciprocal", unary_kernel<Reciprocal>);
  table.add("square", square_kernel);
}

}  // namespace tw::ops

// One function of an element: reads and writes it once. sqrt, rsqrt and reciprocal run at the bandwidth, the
// others take some 10 to 30 instructions an element and do too in float; in double the rate of fp64 is the
// limit. Floor: bytes over the bandwidth.
//
// Per element: 8 bytes and 15 operations (exp, float32).
#include "cuda/common/functions.h"
#include "ops/complex_formula.h"

namespace tw::cuda {

namespace {

constexpr double kLn2 = 0.6931471805599453;

TW_COMPLEX_FUNCTION(Exp, std::exp(x), exp(z))
TW_COMPLEX_FUNCTION(Exp2, std::exp2(x), exp(z* WideComplex(kLn2)))
TW_COMPLEX_FUNCTION(Expm1, std::expm1(x), ops::complex_expm1(z))
TW_COMPLEX_FUNCTION(Log, std::log(x), log(z))
TW_COMPLEX_FUNCTION(Log2, std::log2(x), log(z) / WideComplex(kLn2))
TW_COMPLEX_FUNCTION(Log10, std::log10(x), log10(z))
TW_COMPLEX_FUNCTION(Log1p, std::log1p(x), ops::complex_log1p(z))
TW_COMPLEX_FUNCTION(Sqrt, std::sqrt(x), sqrt(z))
TW_COMPLEX_FUNCTION(Rsqrt, C(1) / std::sqrt(x), WideComplex(1) / sqrt(z))
TW_COMPLEX_FUNCTION(Reciprocal, C(1) / x, WideComplex(1) / z)

struct Square {
  template <class C>
  TW_DEVICE C operator()(C x) const {
    if constexpr (std::is_same_v<C, int32_t> || std::is_same_v<C, int64_t>) {
      using U = std::make_unsigned_t<C>;  // wraps around
      return static_cast<C>(static_cast<U>(x) * static_cast<U>(x));
    } else if constexpr (is_device_complex<C>) {
      return x * x;
    } else {
      return static_cast<C>(x * x);
    }
  }
};

struct BoolAsInt {
  TW_DEVICE int64_t operator()(bool x) const { return x; }
};

void square_kernel(device::KernelContext& k) {
  if (is_bool(k.in(0).dtype)) return pointwise<bool, int64_t>(k, BoolAsInt());
  dispatch_numbers(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T>(k, Square()); });
}

}  // namespace

void kernels_exponential(device::KernelTable& table) {
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

}  // namespace tw::cuda

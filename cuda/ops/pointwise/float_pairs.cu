// Functions of two floating elements. Bytes: the operands' once; 10 to 60 instructions an element. Floor:
// bytes over the bandwidth.
//
// Per element: 12 bytes and 60 operations (logaddexp, float32).
#include "cuda/common/functions.h"
#include "ops/complex_formula.h"
#include "ops/pointwise/float_pairs_formula.h"

namespace tw::cuda {

namespace {

struct LogAddExp {
  TW_DEVICE static WideComplex of_complex(WideComplex a, WideComplex b) {
    return ops::complex_logaddexp(a, b);
  }
  template <class C>
  TW_DEVICE C operator()(C a, C b) const {
    if (a == b) return a + C(0.6931471805599453);  // equal infinities have no distance
    return (a > b ? a : b) + std::log1p(std::exp(-std::fabs(a - b)));
  }
};
struct LogAddExp2 {
  template <class C>
  TW_DEVICE C operator()(C a, C b) const {
    if (a == b) return a + C(1);
    return (a > b ? a : b) + std::log1p(std::exp2(-std::fabs(a - b))) * C(1.4426950408889634);
  }
};
struct XLogY {
  template <class C>
  TW_DEVICE C operator()(C a, C b) const {
    return b != b ? b : a == C(0) ? C(0) : a * std::log(b);
  }
};
struct XLog1pY {
  template <class C>
  TW_DEVICE C operator()(C a, C b) const {
    return b != b ? b : a == C(0) ? C(0) : a * std::log1p(b);
  }
};
TW_BINARY_FUNCTION(Hypot, std::hypot(g, x))
TW_BINARY_FUNCTION(CopySign, std::copysign(g, x))

void nextafter_kernel(device::KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T, T>(k, ops::NextAfterFormula<T>()); });
}
void heaviside_kernel(device::KernelContext& k) {
  dispatch_real_bool(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T, T>(k, ops::HeavisideFormula()); });
}

}  // namespace

void kernels_float_pairs(device::KernelTable& table) {
  table.add("logaddexp", binary_kernel<LogAddExp>);
  table.add("logaddexp2", binary_kernel<LogAddExp2>);
  table.add("hypot", binary_kernel<Hypot>);
  table.add("copysign", binary_kernel<CopySign>);
  table.add("xlogy", binary_kernel<XLogY>);
  table.add("special_xlog1py", binary_kernel<XLog1pY>);
  table.add("nextafter", nextafter_kernel);
  table.add("heaviside", heaviside_kernel);
}

}  // namespace tw::cuda

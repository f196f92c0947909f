// pow and its gradient. Bytes: the operands' once. Squares, cubes, roots and reciprocals need no logarithm
// and run at the bandwidth; other powers take some 60 instructions an element. Floor: bytes over the
// bandwidth, or these instructions.
//
// Per element: 12 bytes and 60 operations (pow, float32).
#include "cuda/common/pointwise_ops.h"
#include "ops/complex_formula.h"
#include "ops/pointwise/power_formula.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

// Where the exponent is a number all threads take the same branch.
struct Power {
  TW_DEVICE static WideComplex of_complex(WideComplex base, WideComplex exponent) {
    return ops::complex_power(base, exponent);
  }
  template <class C>
  TW_DEVICE C operator()(C base, C exponent) const {
    if constexpr (std::is_floating_point_v<C>) {
      ops::ShortPower kind = ops::short_power(exponent);
      if (kind != ops::ShortPower::kNone) return ops::raise_shortly(base, kind);
    }
    return ops::PowerFormula<Functions>()(base, exponent);
  }
};
struct PowerBackward {
  template <class C>
  TW_DEVICE C operator()(C g, C base, C exponent) const {
    if (exponent == C(2)) return ops::SquareBackwardFormula()(g, base);
    return ops::PowerBackwardFormula<Functions>()(g, base, exponent);
  }
};

void pow_kernel(KernelContext& k) {
  if (!is_integral(k.out().dtype)) return floats_kernel<Power>(k);
  dispatch_int(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T, T>(k, Power()); });
}
void pow_backward_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T, T, T>(k, PowerBackward()); });
}

}  // namespace

void kernels_power(device::KernelTable& table) {
  table.add("pow", pow_kernel);
  table.add("pow_backward", pow_backward_kernel);
}

}  // namespace tw::cuda

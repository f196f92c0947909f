// isnan, isinf, isfinite, isposinf, isneginf, signbit. Bytes: an element read, one byte written; integers are
// not read. Floor: bytes over the bandwidth.
//
// Per element: 5 bytes and 1 operation (isnan, float32).
#include "cuda/common/complex.h"
#include "cuda/common/pointwise.h"
#include "ops/pointwise/predicate_formula.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

struct Constant {
  bool value;
  TW_DEVICE bool operator()() const { return value; }
};
template <class F>
void predicate_kernel(KernelContext& k) {
  if (kind_of(k.in(0).dtype) <= DTypeKind::kInt)
    return pointwise_over(Types<bool>{}, Types<>{}, {&k.out()}, {}, k.op, Constant{F::kOfIntegers});
  dispatch_float(k.in(0).dtype, k.op, [&]<class T>() { pointwise<T, bool>(k, F()); });
}
// Of both parts of a complex number, or of either.
template <class F, bool kBoth>
struct OfParts {
  template <class R>
  TW_DEVICE bool operator()(Complex<R> z) const {
    return kBoth ? F()(z.re) && F()(z.im) : F()(z.re) || F()(z.im);
  }
};
template <class F, bool kBoth = false>
void predicate_of_parts_kernel(KernelContext& k) {
  if (!is_complex(k.in(0).dtype)) return predicate_kernel<F>(k);
  dispatch_device_complex(k.in(0).dtype, [&]<class C>() { pointwise<C, bool>(k, OfParts<F, kBoth>()); });
}

void signbit_kernel(KernelContext& k) {
  dispatch_real_bool(k.in(0).dtype, k.op, [&]<class T>() { pointwise<T, bool>(k, ops::SignBitFormula()); });
}

}  // namespace

void kernels_predicate(device::KernelTable& table) {
  table.add("isnan", predicate_of_parts_kernel<ops::IsNanFormula>);
  table.add("isinf", predicate_of_parts_kernel<ops::IsInfFormula>);
  table.add("isfinite", predicate_of_parts_kernel<ops::IsFiniteFormula, true>);
  table.add("isposinf", predicate_kernel<ops::IsPosInfFormula>);
  table.add("isneginf", predicate_kernel<ops::IsNegInfFormula>);
  table.add("signbit", signbit_kernel);
}

}  // namespace tw::cuda

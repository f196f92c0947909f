// isnan, isinf, isfinite, isposinf, isneginf, signbit. Bytes: an element read, one byte written; integers are
// not read. Floor: bytes over the bandwidth.
//
// Per element: 5 bytes and 1 operation (isnan, float32).
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

void signbit_kernel(KernelContext& k) {
  dispatch_real_bool(k.in(0).dtype, k.op, [&]<class T>() { pointwise<T, bool>(k, ops::SignBitFormula()); });
}

}  // namespace

void kernels_predicate(device::KernelTable& table) {
  table.add("isnan", predicate_kernel<ops::IsNanFormula>);
  table.add("isinf", predicate_kernel<ops::IsInfFormula>);
  table.add("isfinite", predicate_kernel<ops::IsFiniteFormula>);
  table.add("isposinf", predicate_kernel<ops::IsPosInfFormula>);
  table.add("isneginf", predicate_kernel<ops::IsNegInfFormula>);
  table.add("signbit", signbit_kernel);
}

}  // namespace tw::cuda

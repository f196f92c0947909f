// One pass; integers have no special values, their answer is written without reading them.
#include "device/cpu/loops.h"
#include "ops/pointwise/predicate_formula.h"

namespace tw::ops {

using namespace device;

namespace {

template <class F>
bool answer_integers(KernelContext& k) {
  if (kind_of(k.in(0).dtype) > DTypeKind::kInt) return false;
  nullary_loop<bool>(k.out(), [] { return F::kOfIntegers; });
  return true;
}

template <class F>
void predicate_kernel(KernelContext& k) {
  if (answer_integers<F>(k)) return;
  dispatch_float_complex(k.in(0).dtype, k.op, [&]<class T>() { unary_loop<T, bool>(k, F()); });
}
template <class F>
void real_predicate_kernel(KernelContext& k) {
  if (answer_integers<F>(k)) return;
  dispatch_float(k.in(0).dtype, k.op, [&]<class T>() { unary_loop<T, bool>(k, F()); });
}

void signbit_kernel(KernelContext& k) {
  dispatch_real_bool(k.in(0).dtype, k.op, [&]<class T>() { unary_loop<T, bool>(k, SignBitFormula()); });
}

}  // namespace

void kernels_predicate(KernelTable& table) {
  table.add("isnan", predicate_kernel<IsNanFormula>);
  table.add("isinf", predicate_kernel<IsInfFormula>);
  table.add("isfinite", predicate_kernel<IsFiniteFormula>);
  table.add("isposinf", real_predicate_kernel<IsPosInfFormula>);
  table.add("isneginf", real_predicate_kernel<IsNegInfFormula>);
  table.add("signbit", signbit_kernel);
}

}  // namespace tw::ops

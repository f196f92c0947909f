// One pass. The gamma family is scalar.
#include "device/cpu/cast.h"
#include "ops/pointwise/special_functions_formula.h"
#include "ops/pointwise_ops_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

void nan_to_num_kernel(KernelContext& k) {
  if (kind_of(k.in(0).dtype) <= DTypeKind::kInt) return copy_cast(k.out(), k.in(0));
  const auto& a = k.attrs<NanToNumAttrs>();
  dispatch_float_complex(k.out().dtype, k.op, [&]<class T>() {
    if constexpr (is_complex_type<T>) {
      auto f = ReplacementFormula<typename T::value_type>::of(a);
      unary_loop<T, T>(k, [f](T z) { return T(f(z.real()), f(z.imag())); });
    } else {
      unary_loop<T, T>(k, ReplacementFormula<T>::of(a));
    }
  });
}

}  // namespace

void kernels_special_functions(KernelTable& table) {
  add_special_functions(PointwiseOps<CpuLoops>(table));
  table.add("nan_to_num", nan_to_num_kernel);
}

}  // namespace tw::ops

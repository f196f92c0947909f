// erf, erfc, erfinv, sigmoid, logit, nan_to_num; lgamma, digamma, polygamma, zeta. Bytes: the operands' once;
// 10 to 60 instructions an element. Floor: bytes over the bandwidth. The gamma family computes in double,
// some 100 to 1000 instructions an element: the rate of fp64 is its floor.
//
// Per element: 8 bytes and 30 operations (erf, float32).
#include "cuda/common/copy.h"
#include "cuda/common/pointwise_ops.h"
#include "ops/pointwise/special_functions_formula.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

template <class R>
struct ReplaceParts {
  ops::ReplacementFormula<R> of_part;
  TW_DEVICE Complex<R> operator()(Complex<R> z) const { return {of_part(z.re), of_part(z.im)}; }
};

void nan_to_num_kernel(KernelContext& k) {
  if (kind_of(k.in(0).dtype) <= DTypeKind::kInt) return copy_cast(k.out(), k.in(0), k.op);
  const auto& a = k.attrs<ops::NanToNumAttrs>();
  dispatch_float_or_complex(k.out().dtype, k.op, [&]<class T>() {
    if constexpr (is_device_complex<T>) {
      using R = decltype(T::re);
      pointwise<T, T>(k, ReplaceParts<R>{ops::ReplacementFormula<R>::of(a)});
    } else {
      pointwise<T, T>(k, ops::ReplacementFormula<T>::of(a));
    }
  });
}

}  // namespace

void kernels_special_functions(device::KernelTable& table) {
  ops::add_special_functions(PointwiseOps(table));
  table.add("nan_to_num", nan_to_num_kernel);
}

}  // namespace tw::cuda

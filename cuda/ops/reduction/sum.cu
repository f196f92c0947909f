// sum. Reads the input once; one addition an element, halves in float, integers in int64. Floor: the input's
// bytes over the bandwidth. A sum of n numbers meets roundings on the order of n / threads + log2(threads).
//
// Per element: 4 bytes and 1 operation (sum, float32).
#include "cuda/common/complex_warp.h"
#include "cuda/common/reduce.h"
#include "ops/reduction/reduction.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

template <class Acc>
struct Sum {
  TW_DEVICE Acc none() const { return Acc{}; }
  template <class C>
  TW_DEVICE Acc map(C x) const {
    return static_cast<Acc>(x);
  }
  TW_DEVICE Acc combine(Acc a, Acc b) const { return a + b; }
  TW_DEVICE Acc finish(Acc total) const { return total; }
};

void sum_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::ReduceDTypeAttrs>();
  uint64_t mask = mask_of(a.dim ? wrap_dims(*a.dim, k.in(0).rank(), k.op) : Dims(), k.in(0).rank());
  DType in = k.in(0).dtype, out = k.out().dtype;
  if (in != out && (out != DType::kInt64 || !(is_integral(in) || is_bool(in))))
    TW_FAIL(kInternal, "sum: the input of dtype ", in, " should have been converted to ", out);
  dispatch_elements(in, k.op, [&]<class T>() {
    using Acc = sum_t<T>;
    reduce<T, Acc>(k.in(0), k.out(), mask, k.op, Sum<Acc>());
  });
}

}  // namespace

void kernels_sum(device::KernelTable& table) { table.add("sum", sum_kernel); }

}  // namespace tw::cuda

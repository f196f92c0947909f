// sum. Reads the input once; one addition an element, halves in float, integers in int64. Floor: the input's
// bytes over the bandwidth. A sum of n numbers meets roundings on the order of n / threads + log2(threads).
#include "cuda/common/reduce.h"
#include "ops/reduction/reduction.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

template <class Acc>
struct Sum {
  TW_DEVICE Acc none() const { return Acc(0); }
  template <class C>
  TW_DEVICE Acc map(C x) const {
    return static_cast<Acc>(x);
  }
  TW_DEVICE Acc combine(Acc a, Acc b) const { return a + b; }
  TW_DEVICE Acc finish(Acc total) const { return total; }
};

template <class In, class Out>
void sum(KernelContext& k, uint64_t mask) {
  using Acc = sum_t<Out>;
  reduce<In, Acc, Out>(k.in(0), k.out(), mask, k.op, Sum<Acc>());
}

void sum_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::ReduceDTypeAttrs>();
  uint64_t mask = mask_of(a.dim ? wrap_dims(*a.dim, k.in(0).rank(), k.op) : Dims(), k.in(0).rank());
  DType in = k.in(0).dtype, out = k.out().dtype;
  if (in == out) return dispatch_real(in, k.op, [&]<class T>() { sum<T, T>(k, mask); });
  if (out == DType::kInt64) return dispatch_int_bool(in, k.op, [&]<class T>() { sum<T, int64_t>(k, mask); });
  TW_FAIL(kInternal, "sum: the input of dtype ", in, " should have been converted to ", out);
}

}  // namespace

void kernels_sum(device::KernelTable& table) { table.add("sum", sum_kernel); }

}  // namespace tw::cuda

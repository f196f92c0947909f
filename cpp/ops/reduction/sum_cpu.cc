// Floor: the input's bytes over the bandwidth.
#include "device/cpu/reduce.h"
#include "ops/reduction/reduction.h"

namespace tw::ops {

using namespace device;

namespace {

template <class In, class Out>
void sum(KernelContext& k, uint64_t mask) {
  using Acc = sum_t<Out>;
  reduce_loop<In, Acc, Out>(k.in(0), k.out(), mask, Acc(0), [](Acc a, Acc b) { return a + b; });
}

void sum_kernel(KernelContext& k) {
  const auto& a = k.attrs<ReduceDTypeAttrs>();
  Dims dims = a.dim ? wrap_dims(*a.dim, k.in(0).rank(), k.op) : Dims();
  uint64_t mask = reduce_mask(dims, k.in(0).rank());
  DType in = k.in(0).dtype, out = k.out().dtype;
  if (in == out) return dispatch_number(in, k.op, [&]<class T>() { sum<T, T>(k, mask); });
  if (out == DType::kInt64) return dispatch_int_bool(in, k.op, [&]<class T>() { sum<T, int64_t>(k, mask); });
  TW_FAIL(kInternal, "sum: the input of dtype ", in, " should have been converted to ", out);
}

}  // namespace

void kernels_sum(KernelTable& table) { table.add("sum", sum_kernel); }

}  // namespace tw::ops

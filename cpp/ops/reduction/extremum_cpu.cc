// Floor: the input's bytes over the bandwidth.
#include <limits>

#include "device/cpu/arg_reduce.h"
#include "device/cpu/reduce.h"
#include "ops/reduction/reduction.h"

namespace tw::ops {

using namespace device;

namespace {

template <bool kLargest>
void extremum_kernel(KernelContext& k) {
  const auto& a = k.attrs<ReduceAttrs>();
  Dims dims = a.dim ? wrap_dims(*a.dim, k.in(0).rank(), k.op) : Dims();
  uint64_t mask = reduce_mask(dims, k.in(0).rank());
  dispatch_real_bool(k.in(0).dtype, k.op, [&]<class T>() {
    using V = compute_t<T>;
    using Limits = std::numeric_limits<V>;
    V identity = kLargest ? Limits::lowest() : Limits::max();
    if constexpr (Limits::has_infinity) identity = kLargest ? -Limits::infinity() : Limits::infinity();
    reduce_loop<T, V, T>(k.in(0), k.out(), mask, identity, [](V a, V b) {
      bool further = kLargest ? b > a : b < a;
      if constexpr (Limits::has_quiet_NaN) further |= b != b;
      return further ? b : a;
    });
  });
}

template <bool kLargest>
void extremum_dim_kernel(KernelContext& k) {
  if (k.out(0).count() == 0) return;
  int64_t dim = wrap_dim(k.attrs<DimKeepAttrs>().dim, k.in(0).rank(), k.op);
  arg_reduce(k.in(0), &k.out(0), &k.out(1), dim, kLargest);
}

template <bool kLargest>
void arg_kernel(KernelContext& k) {
  if (k.out(0).count() == 0) return;
  const auto& dim = k.attrs<OptionalDimAttrs>().dim;
  arg_reduce(k.in(0), nullptr, &k.out(0), dim ? wrap_dim(*dim, k.in(0).rank(), k.op) : kAllDims, kLargest);
}

}  // namespace

void kernels_extremum(KernelTable& table) {
  table.add("amax", extremum_kernel<true>);
  table.add("amin", extremum_kernel<false>);
  table.add("max_dim", extremum_dim_kernel<true>);
  table.add("min_dim", extremum_dim_kernel<false>);
  table.add("argmax", arg_kernel<true>);
  table.add("argmin", arg_kernel<false>);
}

}  // namespace tw::ops

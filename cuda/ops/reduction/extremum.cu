// amax, amin. Reads the input once; one comparison an element. NaN wins. Floor: the input's bytes over the
// bandwidth.
#include <limits>

#include "cuda/common/reduce.h"
#include "ops/reduction/reduction.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

template <class V, bool kLargest>
struct Extremum {
  V identity;
  TW_DEVICE V none() const { return identity; }
  TW_DEVICE V map(V x) const { return x; }
  TW_DEVICE V combine(V a, V b) const {
    // b != b is false for integers, and the compiler drops it.
    return (kLargest ? b > a : b < a) || b != b ? b : a;
  }
  TW_DEVICE V finish(V x) const { return x; }
};

template <bool kLargest>
void extremum_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::ReduceAttrs>();
  uint64_t mask = mask_of(a.dim ? wrap_dims(*a.dim, k.in(0).rank(), k.op) : Dims(), k.in(0).rank());
  dispatch_real_bool(k.in(0).dtype, k.op, [&]<class T>() {
    // A bool as an int: parts of a second pass are no bools.
    using V = std::conditional_t<std::is_same_v<T, bool>, int32_t, compute_t<T>>;
    using Limits = std::numeric_limits<V>;
    V identity = kLargest ? Limits::lowest() : Limits::max();
    if constexpr (Limits::has_infinity) identity = kLargest ? -Limits::infinity() : Limits::infinity();
    reduce<T, V, T>(k.in(0), k.out(), mask, k.op, Extremum<V, kLargest>{identity});
  });
}

}  // namespace

void kernels_extremum(device::KernelTable& table) {
  table.add("amax", extremum_kernel<true>);
  table.add("amin", extremum_kernel<false>);
}

}  // namespace tw::cuda

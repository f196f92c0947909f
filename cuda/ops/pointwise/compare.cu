// eq, ne, lt, le, gt, ge. Bytes: two elements read, one byte written. Floor: bytes over the bandwidth.
//
// Per element: 9 bytes and 1 operation (lt, float32).
#include "cuda/common/complex.h"
#include "cuda/common/pointwise.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

template <class C>
struct Equal {
  bool negated;
  TW_DEVICE bool operator()(C a, C b) const { return (a == b) != negated; }
};
template <class C>
struct Less {
  bool or_equal;
  TW_DEVICE bool operator()(C a, C b) const { return or_equal ? a <= b : a < b; }
};

template <bool kNegated>
void equal_kernel(KernelContext& k) {
  dispatch_elements(k.in(0).dtype, k.op,
                    [&]<class T>() { pointwise<T, T, bool>(k, Equal<compute_t<T>>{kNegated}); });
}

template <bool kOrEqual>
void less(KernelContext& k, const Operand& low, const Operand& high) {
  dispatch_real_bool(low.dtype, k.op, [&]<class T>() {
    pointwise_over(Types<bool>{}, Types<T, T>{}, {&k.out()}, {&low, &high}, k.op,
                   Less<compute_t<T>>{kOrEqual});
  });
}

void lt_kernel(KernelContext& k) { less<false>(k, k.in(0), k.in(1)); }
void le_kernel(KernelContext& k) { less<true>(k, k.in(0), k.in(1)); }
void gt_kernel(KernelContext& k) { less<false>(k, k.in(1), k.in(0)); }
void ge_kernel(KernelContext& k) { less<true>(k, k.in(1), k.in(0)); }

}  // namespace

void kernels_compare(device::KernelTable& table) {
  table.add("eq", equal_kernel<false>);
  table.add("ne", equal_kernel<true>);
  table.add("lt", lt_kernel);
  table.add("le", le_kernel);
  table.add("gt", gt_kernel);
  table.add("ge", ge_kernel);
}

}  // namespace tw::cuda

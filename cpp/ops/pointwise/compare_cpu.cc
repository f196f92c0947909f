// One pass; a byte is written for each pair of elements read.
#include "device/cpu/loops.h"

namespace tw::ops {

using namespace device;

namespace {

template <bool kNegated>
void equal_kernel(KernelContext& k) {
  dispatch_all(k.in(0).dtype, k.op, [&]<class T>() {
    binary_loop<T, T, bool>(k, [](compute_t<T> a, compute_t<T> b) { return kNegated ? a != b : a == b; });
  });
}

template <bool kOrEqual>
void less(KernelContext& k, const Operand& low, const Operand& high) {
  dispatch_real_bool(low.dtype, k.op, [&]<class T>() {
    binary_loop<T, T, bool>(k.out(), low, high,
                            [](compute_t<T> a, compute_t<T> b) { return kOrEqual ? a <= b : a < b; });
  });
}

void lt_kernel(KernelContext& k) { less<false>(k, k.in(0), k.in(1)); }
void le_kernel(KernelContext& k) { less<true>(k, k.in(0), k.in(1)); }
void gt_kernel(KernelContext& k) { less<false>(k, k.in(1), k.in(0)); }
void ge_kernel(KernelContext& k) { less<true>(k, k.in(1), k.in(0)); }

}  // namespace

void kernels_compare(KernelTable& table) {
  table.add("eq", equal_kernel<false>);
  table.add("ne", equal_kernel<true>);
  table.add("lt", lt_kernel);
  table.add("le", le_kernel);
  table.add("gt", gt_kernel);
  table.add("ge", ge_kernel);
}

}  // namespace tw::ops

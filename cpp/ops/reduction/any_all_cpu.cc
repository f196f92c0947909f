// Floor: the input's bytes over the bandwidth.
#include "device/cpu/reduce.h"
#include "ops/reduction/reduction.h"

namespace tw::ops {

using namespace device;

namespace {

template <class Acc, class Combine>
void reduce_truth(KernelContext& k, Acc identity, Combine combine) {
  const auto& a = k.attrs<ReduceAttrs>();
  Dims dims = a.dim ? wrap_dims(*a.dim, k.in(0).rank(), k.op) : Dims();
  uint64_t mask = reduce_mask(dims, k.in(0).rank());
  dispatch_all(k.in(0).dtype, k.op, [&]<class T>() {
    reduce_loop<T, Acc, Acc>(
        k.in(0), k.out(), mask, identity, combine, [](Acc total) { return total; },
        [](compute_t<T> x) { return Acc(x != compute_t<T>(0)); });
  });
}

void any_kernel(KernelContext& k) {
  reduce_truth<uint8_t>(k, 0, [](uint8_t a, uint8_t b) { return static_cast<uint8_t>(a | b); });
}
void all_kernel(KernelContext& k) {
  reduce_truth<uint8_t>(k, 1, [](uint8_t a, uint8_t b) { return static_cast<uint8_t>(a & b); });
}
void count_kernel(KernelContext& k) {
  reduce_truth<int64_t>(k, 0, [](int64_t a, int64_t b) { return a + b; });
}

}  // namespace

void kernels_any_all(KernelTable& table) {
  table.add("any", any_kernel);
  table.add("all", all_kernel);
  table.add("count_nonzero_dims", count_kernel);
}

}  // namespace tw::ops

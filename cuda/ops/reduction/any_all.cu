// any, all, count_nonzero_dims. Reads the input once; an operation an element. Floor: the input's bytes over
// the bandwidth.
#include "cuda/common/reduce.h"
#include "ops/reduction/reduction.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

struct Truth {
  template <class C>
  TW_DEVICE int32_t map(C x) const {
    return x != C(0);
  }
  TW_DEVICE int32_t finish(int32_t total) const { return total; }
};
struct Any : Truth {
  TW_DEVICE int32_t none() const { return 0; }
  TW_DEVICE int32_t combine(int32_t a, int32_t b) const { return a | b; }
};
struct All : Truth {
  TW_DEVICE int32_t none() const { return 1; }
  TW_DEVICE int32_t combine(int32_t a, int32_t b) const { return a & b; }
};
struct Count {
  TW_DEVICE int64_t none() const { return 0; }
  template <class C>
  TW_DEVICE int64_t map(C x) const {
    return x != C(0);
  }
  TW_DEVICE int64_t combine(int64_t a, int64_t b) const { return a + b; }
  TW_DEVICE int64_t finish(int64_t total) const { return total; }
};

template <class F, class Acc, class Out>
void truth_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::ReduceAttrs>();
  uint64_t mask = mask_of(a.dim ? wrap_dims(*a.dim, k.in(0).rank(), k.op) : Dims(), k.in(0).rank());
  dispatch_real_bool(k.in(0).dtype, k.op,
                     [&]<class T>() { reduce<T, Acc, Out>(k.in(0), k.out(), mask, k.op, F()); });
}

}  // namespace

void kernels_any_all(device::KernelTable& table) {
  table.add("any", truth_kernel<Any, int32_t, uint8_t>);
  table.add("all", truth_kernel<All, int32_t, uint8_t>);
  table.add("count_nonzero_dims", truth_kernel<Count, int64_t, int64_t>);
}

}  // namespace tw::cuda

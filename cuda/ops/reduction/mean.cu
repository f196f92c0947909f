// mean. Reads the input once; one addition an element, halves in float. Floor: the input's bytes over the
// bandwidth.
//
// Per element: 4 bytes and 1 operation (mean, float32).
#include "ops/reduction/mean.h"

#include "cuda/common/complex_warp.h"
#include "cuda/common/reduce.h"
#include "ops/reduction/reduction.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

template <class Acc>
struct Mean {
  int64_t count;
  TW_DEVICE Acc none() const { return Acc{}; }
  TW_DEVICE Acc map(Acc x) const { return x; }
  TW_DEVICE Acc combine(Acc a, Acc b) const { return a + b; }
  TW_DEVICE Acc finish(Acc total) const {
    if constexpr (is_device_complex<Acc>)
      return {total.re / static_cast<decltype(Acc::re)>(count),
              total.im / static_cast<decltype(Acc::re)>(count)};
    else
      return total / static_cast<Acc>(count);
  }
};

void mean_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::MeanAttrs>();
  uint64_t mask = mask_of(a.dim ? wrap_dims(*a.dim, k.in(0).rank(), k.op) : Dims(), k.in(0).rank());
  int64_t outputs = k.out().count(), count = a.count ? *a.count : outputs > 0 ? k.in(0).count() / outputs : 0;
  dispatch_float_or_complex(k.out().dtype, k.op, [&]<class T>() {
    using Acc = sum_t<T>;
    reduce<T, Acc>(k.in(0), k.out(), mask, k.op, Mean<Acc>{count});
  });
}

}  // namespace

void kernels_mean(device::KernelTable& table) { table.add("mean", mean_kernel); }

}  // namespace tw::cuda

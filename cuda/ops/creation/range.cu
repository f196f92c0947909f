// range_fill: element i depends on i alone. Bytes: the result once. Floor: bytes over the bandwidth.
#include "ops/creation/range.h"

#include "cuda/common/element.h"
#include "cuda/common/launch.h"
#include "device/kernel.h"

namespace tw::cuda {

namespace {

constexpr int kThreads = block_threads(256);

// W: the type positions are computed in.
template <class T, class W>
__global__ void __launch_bounds__(kThreads)
    range_kernel(stored_t<T>* out, int64_t count, W start, W step, int64_t first) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) out[i] = store<T>(start + step * static_cast<W>(first + i));
}

void range_fill(device::KernelContext& k) {
  const auto& a = k.attrs<ops::RangeAttrs>();
  int64_t count = k.out().count();
  dispatch_real_bool(k.out().dtype, "arange", [&]<class T>() {
    using W = std::conditional_t<is_float_type<T>, double, int64_t>;
    launch(k.op, range_kernel<T, W>, {static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads},
           k.out().as<stored_t<T>>(), count, a.start.to<W>(), a.step.to<W>(), a.first);
  });
}

}  // namespace

void kernels_range(device::KernelTable& table) { table.add("range_fill", range_fill); }

}  // namespace tw::cuda

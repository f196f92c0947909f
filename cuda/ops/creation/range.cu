// range_fill, linspace_fill: element i depends on i alone. Bytes: the result once. Floor: bytes over the
// bandwidth. repeat_positions: a running sum of the repeats, then a search in it for every element; waits for
// the device to know that they add up.
//
// Per element: 4 bytes and 2 operations (arange, float32).
#include "ops/creation/range_formula.h"

#include "cuda/common/dense.h"
#include "cuda/common/element.h"
#include "cuda/common/flag.h"
#include "cuda/common/group_scan.h"
#include "cuda/common/row_values.h"
#include "cuda/common/sorted_rows.h"

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

template <class T>
struct RoundTo {
  TW_DEVICE double operator()(double x) const {
    if constexpr (is_half_type<T>)
      return static_cast<double>(load<T>(store<T>(x)));
    else
      return x;
  }
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    linspace_kernel(stored_t<T>* out, int64_t count, ops::Line<double> line, int64_t first) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) out[i] = store<T>(line.at(first + i, RoundTo<T>()));
}

void linspace_fill(device::KernelContext& k) {
  const auto& a = k.attrs<ops::LinspaceAttrs>();
  int64_t count = k.out().count();
  dispatch_real_bool(k.out().dtype, "linspace", [&]<class T>() {
    auto line = ops::line_of<T, double>(a, [](double x) {
      if constexpr (is_half_type<T>) x = static_cast<float>(T(static_cast<float>(x)));
      return x;
    });
    launch(k.op, linspace_kernel<T>, {static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads},
           k.out().as<stored_t<T>>(), count, line, a.first);
  });
}

// One block: the sums of the repeats up to each.
__global__ void __launch_bounds__(kThreads)
    sum_repeats_kernel(const int64_t* repeats, int64_t count, int64_t* sums, unsigned long long* wrong) {
  int64_t before = 0;
  for (int64_t base = 0; base < count; base += kThreads) {
    int64_t i = base + threadIdx.x, own = i < count ? repeats[i] : 0;
    if (own < 0) note_wrong(wrong, i);
    auto scanned = group_scan<kThreads>(own, int64_t{0}, Plus());
    if (i < count) sums[i] = before + scanned.before + own;
    before += scanned.all;
  }
}

__global__ void __launch_bounds__(kThreads)
    repeat_kernel(const int64_t* sums, int64_t count, int64_t* out, int64_t total) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < total) out[i] = count_below<int64_t>(sums, 0, count, i + 1);
}

void repeat_positions(device::KernelContext& k) {
  int64_t count = k.in(0).count(), total = k.attrs<ops::RepeatAttrs>().total, sum = 0;
  Dense<int64_t> repeats(k.in(0), k.op);
  DeviceScratch sums(static_cast<size_t>(count) * sizeof(int64_t));
  FirstWrong wrong;
  if (count) {
    launch(k.op, sum_repeats_kernel, {1, kThreads}, repeats.data(), count, sums.as<int64_t>(), wrong.data());
    sum = read_one(sums.as<const int64_t>() + count - 1);
  }
  int64_t position = wrong.position();
  TW_CHECK(position < 0, kRuntime, "repeat_interleave: repeats must not be negative, got ",
           read_one(repeats.data() + position));
  TW_CHECK(sum <= total, kRuntime, "repeat_interleave: repeats add up to more than ", total);
  TW_CHECK(sum == total, kRuntime, "repeat_interleave: repeats add up to ", sum, ", not to ", total);
  launch(k.op, repeat_kernel, {static_cast<unsigned>((total + kThreads - 1) / kThreads), kThreads},
         sums.as<const int64_t>(), count, k.out().as<int64_t>(), total);
}

}  // namespace

void kernels_range(device::KernelTable& table) {
  table.add("range_fill", range_fill);
  table.add("linspace_fill", linspace_fill);
  table.add("repeat_positions", repeat_positions);
}

}  // namespace tw::cuda

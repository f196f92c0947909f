// uniform, normal, exponential: element i is drawn from word i of the draw's stream, as on the CPU. Uniform
// numbers equal the CPU's bit for bit, the others to rounding. Bytes: the result once; some 12 instructions
// an element for the bits, 20 more for a normal. Floor: bytes over the bandwidth.
#include "ops/random/distribution.h"

#include <cmath>
#include <optional>

#include "cuda/common/copy.h"
#include "cuda/common/element.h"
#include "cuda/common/launch.h"
#include "cuda/common/philox.h"
#include "cuda/device/scratch.h"
#include "device/kernel.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

constexpr int kThreads = block_threads(256);

template <class T, class C>
struct Uniform {
  C from, width, to;
  TW_DEVICE C operator()(C u) const {
    // One rounding, as on CPUs that have fused multiply-adds; in the dtype of the result, too, it must not
    // reach the open end.
    C x = std::fma(u, width, from);
    return static_cast<C>(load<T>(store<T>(x))) >= to ? from : x;
  }
};
template <class T, class C>
struct Exponential {
  C scale;
  TW_DEVICE C operator()(C u) const { return scale * std::log1p(-u); }
};
template <class T, class C>
struct Normal {
  C mean, std;
  TW_DEVICE C operator()(C z) const { return mean + std * z; }
};

template <class T, bool kNormal, class F>
__global__ void __launch_bounds__(kThreads) draw_kernel(stored_t<T>* out, int64_t count, PhiloxKey key, F f) {
  using C = compute_t<T>;
  constexpr int kEach = kDraws<C>;
  int64_t block = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (block * kEach >= count) return;
  Words words = random_words(key, static_cast<uint64_t>(block));
  C values[kEach];
  TW_UNROLL
  for (int j = 0; j < kEach; j++) values[j] = uniform_of<C>(words, j);
  if constexpr (kNormal) {
    // Two normals of every two uniforms (Box and Muller).
    TW_UNROLL
    for (int j = 0; j < kEach; j += 2) {
      C radius = std::sqrt(C(-2) * std::log(C(1) - values[j])), sine, cosine;
      // In half turns, which need no reduction of large angles.
      if constexpr (sizeof(C) == 8)
        sincospi(C(2) * values[j + 1], &sine, &cosine);
      else
        sincospif(C(2) * values[j + 1], &sine, &cosine);
      values[j] = radius * cosine;
      values[j + 1] = radius * sine;
    }
  }
  TW_UNROLL
  for (int j = 0; j < kEach; j++)
    if (block * kEach + j < count) out[block * kEach + j] = store<T>(f(values[j]));
}

// Draws into row-major memory, and copies from there where the result lies otherwise.
template <class T, bool kNormal, class F>
void draw(KernelContext& k, const F& f) {
  const auto& a = k.attrs<ops::DistributionAttrs>();
  const Operand& out = k.out();
  TW_CHECK(a.part.empty(), kNotImplemented, k.op, ": parts of larger tensors are not drawn on CUDA");
  if (out.count() == 0) return;
  std::optional<DeviceScratch> memory;
  if (!out.contiguous()) memory.emplace(static_cast<size_t>(out.count()) * sizeof(T));
  void* to = memory ? memory->as<void>() : out.data;
  constexpr int64_t kOfBlock = int64_t{kThreads} * kDraws<compute_t<T>>;
  launch(k.op, draw_kernel<T, kNormal, F>,
         {static_cast<unsigned>((out.count() + kOfBlock - 1) / kOfBlock), kThreads},
         static_cast<stored_t<T>*>(to), out.count(), a.key, f);
  if (!memory) return;
  Dims strides = contiguous_strides(*out.sizes);
  copy_cast(out, {to, out.sizes, &strides, out.dtype}, k.op);
}

void uniform_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::DistributionAttrs>();
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    draw<T, false>(k, Uniform<T, C>{C(a.a), C(a.b - a.a), C(a.b)});
  });
}
void normal_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::DistributionAttrs>();
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    draw<T, true>(k, Normal<T, C>{C(a.a), C(a.b)});
  });
}
void exponential_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::DistributionAttrs>();
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    draw<T, false>(k, Exponential<T, C>{C(-1 / a.a)});
  });
}

}  // namespace

void kernels_distribution(device::KernelTable& table) {
  table.add("uniform", uniform_kernel);
  table.add("normal", normal_kernel);
  table.add("exponential", exponential_kernel);
}

}  // namespace tw::cuda

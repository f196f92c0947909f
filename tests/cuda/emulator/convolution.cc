// The convolution that stands for cuDNN's.
#include "cuda/device/convolution.h"

#include <array>
#include <vector>

#include "base/error.h"
#include "tests/cuda/emulator/graphs.h"
#include "tests/cuda/emulator/memory.h"

namespace tw::cuda {

namespace {

using ops::ConvDirection;
using ops::ConvGeometry;

// Libraries read and write whole tensors; they too may touch only what is a tensor's, and read what is set.
void check_tensor(const Convolution& c, const void* data, int64_t count, emulator::ByteState least) {
  for (int64_t byte = 0; byte < count * size_of(c.dtype); byte++) {
    const char* at = static_cast<const char*>(data) + byte;
    TW_CHECK(emulator::g_region.holds(at) && *emulator::g_region.states_of(at) >= least, kDevice, c.op,
             ": the convolution touches memory that is nobody's or not set: ", emulator::place_of(at));
  }
}

// Where the elements of a tensor [outer, channels, dims] lie.
struct Order {
  int64_t channels;
  std::array<int64_t, 3> dims;
  bool last;

  int64_t at(int64_t outer, int64_t channel, int64_t a, int64_t b, int64_t c) const {
    int64_t position = (a * dims[1] + b) * dims[2] + c, positions = dims[0] * dims[1] * dims[2];
    return last ? (outer * positions + position) * channels + channel
                : (outer * channels + channel) * positions + position;
  }
};

// Calls f(element of x, of w, of y) for every product of the convolution.
template <class F>
void each_product(const ConvGeometry& g, F f) {
  int64_t inner = g.in_channels / g.groups, outer = g.out_channels / g.groups;
  Order x{g.in_channels, g.in, g.channels_last}, w{inner, g.kernel, g.weight_last},
      y{g.out_channels, g.out, g.channels_last};
  auto position = [&](int d, int64_t p, int64_t tap) {
    int64_t at = ops::input_position(p, tap, g.stride[d], g.padding[d], g.dilation[d]);
    return at >= 0 && at < g.in[d] ? at : -1;
  };
  for (int64_t n = 0; n < g.images; n++)
    for (int64_t o = 0; o < g.out_channels; o++)
      for (int64_t p = 0; p < g.out_positions(); p++)
        for (int64_t tap = 0; tap < g.taps(); tap++) {
          int64_t out[] = {p / (g.out[1] * g.out[2]), p / g.out[2] % g.out[1], p % g.out[2]};
          int64_t k[] = {tap / (g.kernel[1] * g.kernel[2]), tap / g.kernel[2] % g.kernel[1],
                         tap % g.kernel[2]};
          int64_t a = position(0, out[0], k[0]), b = position(1, out[1], k[1]), c = position(2, out[2], k[2]);
          if (a < 0 || b < 0 || c < 0) continue;
          for (int64_t i = 0; i < inner; i++)
            f(x.at(n, o / outer * inner + i, a, b, c), w.at(o, i, k[0], k[1], k[2]),
              y.at(n, o, out[0], out[1], out[2]));
        }
}

template <class T>
void convolve(const Convolution& c) {
  using C = compute_t<T>;
  const ConvGeometry& g = c.g;
  T *x = static_cast<T*>(c.x), *w = static_cast<T*>(c.w), *y = static_cast<T*>(c.y);
  struct {
    ConvDirection writes;
    T* data;
    int64_t count;
  } tensors[] = {{ConvDirection::kInput, x, g.images * g.in_channels * g.in_positions()},
                 {ConvDirection::kWeight, w, g.weight_count()},
                 {ConvDirection::kForward, y, g.images * g.out_channels * g.out_positions()}};
  for (auto& [writes, data, count] : tensors)
    check_tensor(c, data, count,
                 writes == c.direction ? emulator::ByteState::kUnset : emulator::ByteState::kSet);
  for (auto& [writes, data, count] : tensors) {
    if (writes != c.direction) continue;
    std::vector<C> sums(static_cast<size_t>(count), C(0));
    each_product(g, [&](int64_t in, int64_t weight, int64_t out) {
      if (c.direction == ConvDirection::kForward)
        sums[out] += static_cast<C>(x[in]) * static_cast<C>(w[weight]);
      else if (c.direction == ConvDirection::kInput)
        sums[in] += static_cast<C>(y[out]) * static_cast<C>(w[weight]);
      else
        sums[weight] += static_cast<C>(y[out]) * static_cast<C>(x[in]);
    });
    for (int64_t i = 0; i < count; i++) data[i] = T(sums[i]);
    emulator::mark(data, static_cast<size_t>(count) * sizeof(T), emulator::ByteState::kSet);
  }
}

}  // namespace

void run_convolution(const Convolution& convolution, cudaStream_t stream) {
  static const char kind = 0;
  if (emulator::keep(&kind, [=] { run_convolution(convolution, stream); })) return;
  emulator::DeviceAccess access;
  dispatch_float(convolution.dtype, convolution.op, [&]<class T>() { convolve<T>(convolution); });
}

}  // namespace tw::cuda

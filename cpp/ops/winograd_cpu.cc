// Stages of y from x and w, and likewise of x from y with the weights turned round: (1) weights to U, once;
// (2) chunks of tiles, each on one thread: their V, 16 products with U, their outputs. Of w: where dU is
// small, chunks in order add theirs to one of a few, which are summed at the end; where it is large, all
// tiles are transformed first, and threads share the 16 products. Cuts depend on shapes alone. Floor: 16/36
// of the flops of the direct sum.
#include "ops/winograd_cpu.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "device/cpu/parallel.h"
#include "device/cpu/scratch.h"
#include "ops/winograd_tiles_cpu.h"

namespace tw::ops {

namespace {

using device::parallel_for;
using device::Scratch;

constexpr int64_t kProducts = 16;
constexpr int64_t kFewestTiles = 48;  // in a chunk, so that U is worth reading
constexpr int64_t kLargeGradient = 1536 << 10;
constexpr int64_t kMostPartials = 8;

// Tiles of 2x2 outputs over images that lie channels-last.
struct Tiles {
  int64_t images, height, width;
  int64_t down() const { return (height + 1) / 2; }
  int64_t across() const { return (width + 1) / 2; }
  int64_t count() const { return images * down() * across(); }

  struct At {
    int64_t image, row, column;
  };
  At at(int64_t tile) const {
    int64_t column = tile % across() * 2, rest = tile / across();
    return {rest / down(), rest % down() * 2, column};
  }
  // The pixel, or `outside` where there is none.
  template <class T>
  T* pixel(T* data, int64_t channels, const At& at, int64_t row, int64_t column, T* outside) const {
    int64_t r = at.row + row, c = at.column + column;
    bool inside = r >= 0 && r < height && c >= 0 && c < width;
    return inside ? data + ((at.image * height + r) * width + c) * channels : outside;
  }
};

// U = G w Gᵀ as [16][columns / 64][inner][64]: forward, columns are output channels; backward, they are input
// channels and the window is turned round.
class Weights {
 public:
  Weights(const ConvGeometry& g, const float* w, bool backward)
      : inner_(backward ? g.out_channels : g.in_channels),
        columns_(backward ? g.in_channels : g.out_channels),
        memory_(static_cast<size_t>(kProducts * inner_ * columns_) * sizeof(float)) {
    parallel_for(0, g.out_channels, 4, [&](int64_t first, int64_t last) {
      for (int64_t out = first; out < last; out++)
        for (int64_t in = 0; in < g.in_channels; in += kWinogradLanes) transform(g, w, backward, out, in);
    });
  }
  const float* panel(int64_t product, int64_t column) const {
    return memory_.as<float>() + (product * columns_ + column) * inner_;
  }

 private:
  // Of one output channel and 16 input channels.
  void transform(const ConvGeometry& g, const float* w, bool backward, int64_t out, int64_t in) {
    float taps[9 * kWinogradLanes], u[kProducts * kWinogradLanes];
    const float* from = w + out * 9 * g.in_channels;
    for (int64_t k = 0; k < 9; k++)
      for (int64_t lane = 0; lane < kWinogradLanes; lane++)
        taps[(backward ? 8 - k : k) * kWinogradLanes + lane] =
            g.weight_last ? from[k * g.in_channels + in + lane] : from[(in + lane) * 9 + k];
    winograd_tiles()->weight(taps, kWinogradLanes, u);
    int64_t column = backward ? in : out, i = backward ? out : in, step = backward ? 1 : kWinogradPanel;
    float* to = memory_.as<float>() + column / kWinogradPanel * kWinogradPanel * inner_ + i * kWinogradPanel +
                column % kWinogradPanel;
    for (int64_t p = 0; p < kProducts; p++)
      for (int64_t lane = 0; lane < kWinogradLanes; lane++)
        to[p * inner_ * columns_ + lane * step] = u[p * kWinogradLanes + lane];
  }

  int64_t inner_, columns_;
  Scratch memory_;
};

std::vector<float> no_pixels(int64_t channels) {
  return std::vector<float>(static_cast<size_t>(channels), 0.0f);
}

// V of tiles [first, last) as [16][last - first][channels].
void transform_inputs(const Tiles& tiles, const float* x, int64_t channels, int64_t first, int64_t last,
                      float* v, int64_t step, const float* zeros) {
  for (int64_t tile = first; tile < last; tile++) {
    Tiles::At at = tiles.at(tile);
    const float* pixels[16];
    for (int i = 0; i < 16; i++) pixels[i] = tiles.pixel(x, channels, at, i / 4 - 1, i % 4 - 1, zeros);
    winograd_tiles()->input(pixels, channels, v + (tile - first) * channels, step);
  }
}

void transform_gradients(const Tiles& tiles, const float* y, int64_t channels, int64_t first, int64_t last,
                         float* v, int64_t step, const float* zeros) {
  for (int64_t tile = first; tile < last; tile++) {
    Tiles::At at = tiles.at(tile);
    const float* pixels[4];
    for (int i = 0; i < 4; i++) pixels[i] = tiles.pixel(y, channels, at, i / 2, i % 2, zeros);
    winograd_tiles()->gradient(pixels, channels, v + (tile - first) * channels, step);
  }
}

int64_t tiles_in_chunk(int64_t channels, int64_t tiles) {
  int64_t fit = winograd_tiles()->chunk_bytes / (kProducts * channels * static_cast<int64_t>(sizeof(float)));
  return std::clamp<int64_t>(fit / 6 * 6, kFewestTiles, std::max(kFewestTiles, (tiles + 3) / 4));
}

// to[N, H, W, columns] from from[N, H, W, inner].
bool convolve(const ConvGeometry& g, const float* from, const Weights& weights, bool backward,
              const float* bias, float* to, const ConvEpilogue* then) {
  int64_t inner = backward ? g.out_channels : g.in_channels,
          columns = backward ? g.in_channels : g.out_channels;
  Tiles tiles{g.images, g.in[1], g.in[2]};
  int64_t chunk = tiles_in_chunk(inner + columns, tiles.count()),
          chunks = (tiles.count() + chunk - 1) / chunk;
  std::vector<float> zeros = no_pixels(inner);
  std::atomic<bool> finite = true;
  parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
    Scratch memory(static_cast<size_t>(kProducts * chunk * (inner + columns)) * sizeof(float));
    float *v = memory.as<float>(), *m = v + kProducts * chunk * inner;
    for (int64_t i = begin; i < end; i++) {
      int64_t first = i * chunk, count = std::min(chunk, tiles.count() - first);
      transform_inputs(tiles, from, inner, first, first + count, v, chunk * inner, zeros.data());
      for (int64_t p = 0; p < kProducts; p++)
        for (int64_t column = 0; column < columns; column += kWinogradPanel)
          winograd_tiles()->product({.rows = count,
                                     .inners = inner,
                                     .a = v + p * chunk * inner,
                                     .a_row = inner,
                                     .a_inner = 1,
                                     .b = weights.panel(p, column),
                                     .b_row = kWinogradPanel,
                                     .c = m + p * chunk * columns + column,
                                     .c_row = columns,
                                     .accumulate = false});
      bool all_finite = true;
      for (int64_t t = 0; t < count; t++) {
        Tiles::At at = tiles.at(first + t);
        float* pixels[4];
        for (int j = 0; j < 4; j++) pixels[j] = tiles.pixel<float>(to, columns, at, j / 2, j % 2, nullptr);
        all_finite &= winograd_tiles()->output(m + t * columns, chunk * columns, columns, bias, pixels);
        for (float* pixel : pixels)
          if (then && pixel) then->on_pixels(pixel, 1, columns, 0, columns);
      }
      if (!all_finite) finite = false;
    }
  });
  return finite;
}

// dU as [16][out][in].
class WeightGradient {
 public:
  WeightGradient(const ConvGeometry& g, const float* x, const float* y)
      : g_(g),
        x_(x),
        y_(y),
        tiles_{g.images, g.in[1], g.in[2]},
        zeros_(no_pixels(std::max(g.in_channels, g.out_channels))),
        count_(kProducts * g.in_channels * g.out_channels) {}

  bool run(float* w) {
    bool large = count_ * static_cast<int64_t>(sizeof(float)) > kLargeGradient;
    large ? by_products() : by_chunks();
    return finish(w);
  }

 private:
  // sum[16][out][in] += G V over `count` tiles.
  void add(int64_t product, int64_t row, int64_t rows, int64_t count, const float* gradients, const float* v,
           int64_t step, float* sum, bool accumulate) const {
    int64_t in = g_.in_channels, out = g_.out_channels;
    for (int64_t column = 0; column < in; column += kWinogradPanel)
      winograd_tiles()->product({.rows = rows,
                                 .inners = count,
                                 .a = gradients + product * step * out + row,
                                 .a_row = 1,
                                 .a_inner = out,
                                 .b = v + product * step * in + column,
                                 .b_row = in,
                                 .c = sum + (product * out + row) * in + column,
                                 .c_row = in,
                                 .accumulate = accumulate});
  }

  void by_chunks() {
    int64_t in = g_.in_channels, out = g_.out_channels;
    int64_t chunk = tiles_in_chunk(in + out, tiles_.count()), chunks = (tiles_.count() + chunk - 1) / chunk;
    partials_ = std::min(chunks, kMostPartials);
    sums_ = Scratch(static_cast<size_t>(partials_ * count_) * sizeof(float));
    parallel_for(0, partials_, 1, [&](int64_t begin, int64_t end) {
      Scratch memory(static_cast<size_t>(kProducts * chunk * (in + out)) * sizeof(float));
      float *v = memory.as<float>(), *gradients = v + kProducts * chunk * in;
      for (int64_t part = begin; part < end; part++)
        for (int64_t i = chunks * part / partials_; i < chunks * (part + 1) / partials_; i++) {
          int64_t first = i * chunk, count = std::min(chunk, tiles_.count() - first);
          transform_inputs(tiles_, x_, in, first, first + count, v, chunk * in, zeros_.data());
          transform_gradients(tiles_, y_, out, first, first + count, gradients, chunk * out, zeros_.data());
          for (int64_t p = 0; p < kProducts; p++)
            add(p, 0, out, count, gradients, v, chunk, sums_.as<float>() + part * count_,
                i > chunks * part / partials_);
        }
    });
  }

  void by_products() {
    int64_t in = g_.in_channels, out = g_.out_channels, count = tiles_.count();
    Scratch memory(static_cast<size_t>(kProducts * count * (in + out)) * sizeof(float));
    float *v = memory.as<float>(), *gradients = v + kProducts * count * in;
    parallel_for(0, count, 8, [&](int64_t first, int64_t last) {
      transform_inputs(tiles_, x_, in, first, last, v + first * in, count * in, zeros_.data());
      transform_gradients(tiles_, y_, out, first, last, gradients + first * out, count * out, zeros_.data());
    });
    partials_ = 1;
    sums_ = Scratch(static_cast<size_t>(count_) * sizeof(float));
    parallel_for(0, kProducts, 1, [&](int64_t first, int64_t last) {
      for (int64_t p = first; p < last; p++)
        add(p, 0, out, count, gradients, v, count, sums_.as<float>(), false);
    });
  }

  // w = Gᵀ dU G.
  bool finish(float* w) {
    for (int64_t part = 1; part < partials_; part++) add_partial(part);
    std::atomic<bool> finite = true;
    parallel_for(0, g_.out_channels, 4, [&](int64_t first, int64_t last) {
      float zeros[kWinogradLanes] = {};
      for (int64_t out = first; out < last; out++)
        for (int64_t in = 0; in < g_.in_channels; in += kWinogradLanes) give(out, in, w, zeros);
      for (float zero : zeros)
        if (zero != 0) finite = false;  // NaN, too
    });
    return finite;
  }

  void add_partial(int64_t part) {
    float* sum = sums_.as<float>();
    parallel_for(0, count_, 1 << 15, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; i++) sum[i] += sum[part * count_ + i];
    });
  }

  void give(int64_t out, int64_t in, float* w, float* zeros) const {
    const float* from = sums_.as<float>() + out * g_.in_channels + in;
    int64_t product = g_.in_channels * g_.out_channels;
    float* to = w + out * 9 * g_.in_channels;
    if (g_.weight_last)
      return winograd_tiles()->weight_gradient(from, product, to + in, g_.in_channels, zeros);
    float taps[9 * kWinogradLanes];
    winograd_tiles()->weight_gradient(from, product, taps, kWinogradLanes, zeros);
    for (int64_t k = 0; k < 9; k++)
      for (int64_t lane = 0; lane < kWinogradLanes; lane++)
        to[(in + lane) * 9 + k] = taps[k * kWinogradLanes + lane];
  }

  const ConvGeometry& g_;
  const float *x_, *y_;
  Tiles tiles_;
  std::vector<float> zeros_;
  int64_t count_;  // of dU
  int64_t partials_ = 1;
  Scratch sums_;
};

}  // namespace

bool winograd_applies(ConvDirection direction, const ConvGeometry& g) {
  bool windows = g.dims == 2 && g.kernel[1] == 3 && g.kernel[2] == 3 && g.groups == 1;
  for (int i = 1; i < 3; i++)
    windows = windows && g.stride[i] == 1 && g.dilation[i] == 1 && g.padding[i] == 1 && g.in[i] == g.out[i];
  if (!windows || g.in_channels % kWinogradPanel != 0 || g.out_channels % kWinogradPanel != 0) return false;
  // Weights outweigh what a few tiles save.
  int64_t tiles = Tiles{g.images, g.in[1], g.in[2]}.count();
  return winograd_tiles() && tiles >= (direction == ConvDirection::kWeight ? 64 : 256);
}

bool winograd_convolution(ConvDirection direction, const ConvGeometry& g, const float* x, const float* w,
                          const float* bias, const float* y, float* result, const ConvEpilogue* then) {
  if (!g.channels_last || !winograd_applies(direction, g)) return false;
  if (direction == ConvDirection::kWeight) return WeightGradient(g, x, y).run(result);
  bool backward = direction == ConvDirection::kInput;
  return convolve(g, backward ? y : x, Weights(g, w, backward), backward, bias, result, then);
}

}  // namespace tw::ops

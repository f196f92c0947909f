// Row-major: a tile of channels is worked on from its statistics to its output, so that forward reads x once
// from memory and twice from the second-level cache, and backward g and x likewise. Tiles depend on the shape
// alone. Channels-last: see batch_norm_last.h. Floor: the bytes of x and y (of g, x and dx) over the
// bandwidth.
#include <algorithm>
#include <cmath>
#include <vector>

#include "device/cpu/dense.h"
#include "device/cpu/parallel.h"
#include "ops/channels_last_cpu.h"
#include "ops/normalisation/batch_norm_last.h"
#include "ops/normalisation/batch_norm_rows.h"
#include "ops/normalisation/normalisation.h"

namespace tw::ops {

using namespace device;

namespace {

constexpr int64_t kTile = 1024;  // elements of a sample that one tile takes at least, where there are as many
constexpr int64_t kPiece = 4096;  // elements worked on at a time

// x as [samples, channels, length].
struct Planes {
  int64_t samples, channels, length;
  explicit Planes(const Operand& x) : samples(x.size(0)), channels(x.size(1)), length(1) {
    for (int64_t d = 2; d < x.rank(); d++) length *= x.size(d);
  }
  int64_t step() const { return channels * length; }
  int64_t tile() const { return std::max<int64_t>(1, kTile / std::max<int64_t>(1, length)); }
  double count() const { return static_cast<double>(samples) * static_cast<double>(length); }
};

// Numbers of each element of a piece of a tile: its channel's.
template <class C>
struct Spread {
  std::vector<C> of;
  void fill(const C* by_channel, int64_t first, int64_t width, int64_t length) {
    of.resize(width);
    for (int64_t j = 0; j < width; j++) of[j] = by_channel[(first + j) / length];
  }
};

template <class C>
struct Buffers {
  std::vector<C> part;
  std::vector<double> total;
  Spread<C> a, b, c;
  void resize(int64_t width) {
    if (static_cast<int64_t>(part.size()) < width) part.resize(width), total.resize(width);
  }
};

// body(first element of the tile's piece within a sample, its offset within the tile, its width)
template <class Body>
void for_pieces(const Planes& planes, int64_t channel, int64_t channels, Body body) {
  int64_t width = channels * planes.length;
  for (int64_t first = 0; first < width; first += kPiece)
    body(channel * planes.length + first, first, std::min(kPiece, width - first));
}

void fold(const double* total, int64_t first, int64_t width, int64_t length, double* by_channel) {
  for (int64_t j = 0; j < width; j++) by_channel[(first + j) / length] += total[j];
}

template <class T>
struct Forward {
  using C = compute_t<T>;
  const Planes& planes;
  const stored_t<T>* x;
  const C *weight, *bias;
  stored_t<T>* y;
  C *mean, *rstd, *unbiased;
  double eps;

  void tile(int64_t channel, int64_t channels) const {
    Buffers<C> buffers;
    buffers.resize(std::min(kPiece, channels * planes.length));
    std::vector<double> sums(channels, 0.0), squares(channels, 0.0);
    C *part = buffers.part.data(), *means = mean + channel;
    double* total = buffers.total.data();
    for_pieces(planes, channel, channels, [&](int64_t at, int64_t first, int64_t width) {
      sum_columns<T>(planes.samples, planes.step(), width, x + at, part, total);
      fold(total, first, width, planes.length, sums.data());
    });
    for (int64_t c = 0; c < channels; c++) means[c] = C(sums[c] / planes.count());
    for_pieces(planes, channel, channels, [&](int64_t at, int64_t first, int64_t width) {
      buffers.a.fill(means, first, width, planes.length);
      square_columns<T>(planes.samples, planes.step(), width, x + at, buffers.a.of.data(), part, total);
      fold(total, first, width, planes.length, squares.data());
    });
    std::vector<C> scale(channels), shift(channels);
    for (int64_t c = 0; c < channels; c++) {
      C r = C(norm_rstd(squares[c], planes.count(), eps));
      rstd[channel + c] = r;
      unbiased[channel + c] = C(unbiased_variance(squares[c], planes.count()));
      scale[c] = weight ? r * weight[channel + c] : r;
      shift[c] = bias ? bias[channel + c] : C(0);
    }
    for_pieces(planes, channel, channels, [&](int64_t at, int64_t first, int64_t width) {
      buffers.a.fill(means, first, width, planes.length);
      buffers.b.fill(scale.data(), first, width, planes.length);
      buffers.c.fill(shift.data(), first, width, planes.length);
      apply_rows<T>(planes.samples, planes.step(), width, x + at, buffers.a.of.data(), buffers.b.of.data(),
                    buffers.c.of.data(), y + at);
    });
  }
};

template <class T>
struct Backward {
  using C = compute_t<T>;
  const Planes& planes;
  const stored_t<T>*g, *x;
  const C *weight, *mean, *rstd;
  stored_t<T>* dx;  // null: not wanted
  C *dw, *db;

  void tile(int64_t channel, int64_t channels) const {
    Buffers<C> buffers;
    Spread<C> spread_q, spread_rest;
    buffers.resize(std::min(kPiece, channels * planes.length));
    std::vector<double> sums(channels, 0.0), products(channels, 0.0);
    C* part = buffers.part.data();
    double* total = buffers.total.data();
    for_pieces(planes, channel, channels, [&](int64_t at, int64_t first, int64_t width) {
      sum_columns<T>(planes.samples, planes.step(), width, g + at, part, total);
      fold(total, first, width, planes.length, sums.data());
      buffers.a.fill(mean + channel, first, width, planes.length);
      product_columns<T>(planes.samples, planes.step(), width, g + at, x + at, buffers.a.of.data(), part,
                         total);
      fold(total, first, width, planes.length, products.data());
    });
    std::vector<C> p(channels), q(channels), rest(channels);
    for (int64_t c = 0; c < channels; c++) {
      double r = rstd[channel + c], w = weight ? static_cast<double>(weight[channel + c]) : 1;
      dw[channel + c] = C(products[c] * r);
      db[channel + c] = C(sums[c]);
      auto slope = NormSlope<C>::of(w, w * sums[c], w * products[c] * r, r, planes.count());
      p[c] = slope.p, q[c] = slope.q, rest[c] = slope.rest;
    }
    if (!dx) return;
    for_pieces(planes, channel, channels, [&](int64_t at, int64_t first, int64_t width) {
      buffers.a.fill(mean + channel, first, width, planes.length);
      buffers.b.fill(p.data(), first, width, planes.length);
      spread_q.fill(q.data(), first, width, planes.length);
      spread_rest.fill(rest.data(), first, width, planes.length);
      const C* terms[] = {buffers.a.of.data(), buffers.b.of.data(), spread_q.of.data(),
                          spread_rest.of.data()};
      backward_rows<T>(planes.samples, planes.step(), width, g + at, x + at, terms, dx + at);
    });
  }
};

template <class Work>
void run_tiles(const Planes& planes, const Work& work) {
  int64_t tile = planes.tile(), tiles = (planes.channels + tile - 1) / tile;
  int64_t bytes = planes.samples * tile * std::max<int64_t>(1, planes.length) * 8;
  parallel_for(0, tiles, std::max<int64_t>(1, (128 << 10) / std::max<int64_t>(1, bytes)),
               [&](int64_t first, int64_t last) {
                 for (int64_t t = first; t < last; t++)
                   work.tile(t * tile, std::min(tile, planes.channels - t * tile));
               });
}

void train_kernel(KernelContext& k) {
  const Operand& input = k.in(0);
  Planes planes(input);
  bool last = is_channels_last(input) && holds_channels_last(k.out(0));
  double eps = k.attrs<BatchNormAttrs>().eps;
  dispatch_float(input.dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    Dense<C> weight(k.in(1)), bias(k.in(2));
    auto* y = k.out(0).as<stored_t<T>>();
    C *mean = k.out(1).as<C>(), *rstd = k.out(2).as<C>(), *unbiased = k.out(3).as<C>();
    if (last) {
      ChannelsMoved moved(input);
      Dense<T> x(moved.of(input));
      ForwardLast<T>{planes.samples * planes.length,
                     planes.channels,
                     x.data(),
                     weight.data(),
                     bias.data(),
                     y,
                     mean,
                     rstd,
                     unbiased,
                     eps}
          .run();
    } else {
      Dense<T> x(input);
      run_tiles(planes,
                Forward<T>{planes, x.data(), weight.data(), bias.data(), y, mean, rstd, unbiased, eps});
    }
  });
}

template <class C>
void give(const Operand& out, C* values, int64_t n) {
  Dims sizes{n}, strides{1};
  copy_cast(out, {values, &sizes, &strides, dtype_of<C>});
}

void backward_kernel(KernelContext& k) {
  int64_t wanted = k.attrs<BatchNormBackwardAttrs>().wanted;
  const Operand& input = k.in(1);
  Planes planes(input);
  bool last = is_channels_last(input) && (!(wanted & kNormInput) || holds_channels_last(k.out(0)));
  dispatch_float(input.dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    Dense<C> weight(k.in(2)), mean(k.in(3)), rstd(k.in(4));
    ScratchArray<C> dw(planes.channels), db(planes.channels);
    auto* dx = wanted & kNormInput ? k.out(0).as<stored_t<T>>() : nullptr;
    if (last) {
      ChannelsMoved moved_g(k.in(0)), moved_x(input);
      Dense<T> g(moved_g.of(k.in(0))), x(moved_x.of(input));
      BackwardLast<T>{planes.samples * planes.length,
                      planes.channels,
                      g.data(),
                      x.data(),
                      weight.data(),
                      mean.data(),
                      rstd.data(),
                      dx,
                      dw.data(),
                      db.data()}
          .run();
    } else {
      Dense<T> g(k.in(0)), x(input);
      run_tiles(planes, Backward<T>{planes, g.data(), x.data(), weight.data(), mean.data(), rstd.data(), dx,
                                    dw.data(), db.data()});
    }
    if (wanted & kNormWeight) give(k.out(1), dw.data(), planes.channels);
    if (wanted & kNormBias) give(k.out(2), db.data(), planes.channels);
  });
}

}  // namespace

void kernels_batch_norm(KernelTable& table) {
  table.add("batch_norm_train", train_kernel);
  table.add("batch_norm_backward", backward_kernel);
}

}  // namespace tw::ops

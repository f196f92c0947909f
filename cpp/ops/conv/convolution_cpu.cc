// Kernels of convolution and convolution_weight. float32 goes to oneDNN (see ops/onednn_convolution_cpu.h) in
// the order that it has in memory, the half types there through float32 copies; other dtypes gather windows
// of row-major tensors into a matrix (im2col) and multiply:
//
//   columns[C/g · K, P] of one image and group: y = W · columns, x = scatter(Wᵀ · y), w = Σ y · columnsᵀ
#include "ops/conv/convolution.h"

#include <algorithm>
#include <optional>

#include "base/memory_order.h"
#include "device/cpu/contiguous.h"
#include "device/cpu/gemm.h"
#include "device/cpu/parallel.h"
#include "device/cpu/product.h"
#include "ops/columns_cpu.h"
#include "ops/onednn_convolution_cpu.h"
#include "ops/winograd_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

template <class T>
void multiply(int64_t m, int64_t n, int64_t k, Matrix<T> a, Matrix<T> b, bool accumulate, T* c) {
  if constexpr (std::is_integral_v<T>) {
    auto operand = [](const T* data, const Dims& sizes, const Dims& strides) {
      return Operand{const_cast<T*>(data), &sizes, &strides, dtype_of<T>};
    };
    Dims mk{m, k}, kn{k, n}, mn{m, n}, sa{a.row_stride, a.column_stride}, sb{b.row_stride, b.column_stride},
        sc{n, 1};
    matrix_product(operand(c, mn, sc), operand(a.data, mk, sa), operand(b.data, kn, sb), Scalar(1),
                   Scalar(accumulate ? 1 : 0));
  } else {
    gemm<T>(m, n, k, T(1), a, b, accumulate ? T(1) : T(0), c, n);
  }
}

template <class T>
void by_columns(ConvDirection direction, const ConvGeometry& g, T* x, T* w, T* y) {
  int64_t inner = g.in_channels / g.groups, outer = g.out_channels / g.groups, rows = inner * g.taps();
  int64_t positions = g.out_positions();
  Scratch memory(static_cast<size_t>(rows * positions) * sizeof(T));
  T* columns = memory.as<T>();
  for (int64_t i = 0; i < g.images * g.groups; i++) {
    int64_t group = i % g.groups;
    T *from_x = x + i * inner * g.in_positions(), *from_y = y + i * outer * positions,
      *weight = w + group * outer * rows;
    if (direction != ConvDirection::kInput) gather_columns(g, from_x, columns);
    if (direction == ConvDirection::kForward) {
      multiply<T>(outer, positions, rows, {weight, rows, 1}, {columns, positions, 1}, false, from_y);
    } else if (direction == ConvDirection::kInput) {
      multiply<T>(rows, positions, outer, {weight, 1, rows}, {from_y, positions, 1}, false, columns);
      scatter_columns(g, columns, from_x);
    } else {
      multiply<T>(outer, rows, positions, {from_y, positions, 1}, {columns, 1, positions}, i >= g.groups,
                  weight);
    }
  }
}

template <class T>
void add_bias(T* y, int64_t images, int64_t channels, int64_t positions, const T* bias) {
  parallel_for(0, images * channels, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, positions)),
               [&](int64_t first, int64_t last) {
                 for (int64_t i = first; i < last; i++)
                   for (int64_t p = 0; p < positions; p++)
                     y[i * positions + p] = T(y[i * positions + p] + bias[i % channels]);
               });
}

void add_bias_last(float* y, int64_t rows, int64_t channels, const float* bias) {
  parallel_for(0, rows, std::max<int64_t>(1, 16384 / channels), [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; row++)
      for (int64_t c = 0; c < channels; c++) y[row * channels + c] += bias[c];
  });
}

template <class T>
T* result_of(ConvDirection direction, T* x, T* w, T* y) {
  return direction == ConvDirection::kForward ? y : direction == ConvDirection::kInput ? x : w;
}

bool is_empty(const ConvGeometry& g) {
  return g.images * g.in_channels * g.in_positions() == 0 ||
         g.images * g.out_channels * g.out_positions() == 0 || g.weight_count() == 0;
}

// All tensors row-major, the result in `result_count` elements.
template <class T>
void convolve(ConvDirection direction, const ConvGeometry& g, T* x, T* w, const T* bias, T* y,
              int64_t result_count) {
  if (is_empty(g))
    std::fill_n(result_of(direction, x, w, y), result_count, T(0));
  else
    by_columns(direction, g, x, w, y);
  if (!bias) return;
  if (direction == ConvDirection::kForward)
    add_bias(y, g.images, g.out_channels, g.out_positions(), bias);
  else
    add_bias(x, g.images, g.in_channels, g.in_positions(), bias);
}

// What follows a forward convolution of float32; null where it is absent.
struct Then {
  const Operand *shift = nullptr, *scale = nullptr, *residual = nullptr;
  bool relu = false;
};

// The operands of a convolution, whichever of them is written.
struct Operands {
  ConvDirection direction;
  const Operand &x, &w, &y;
  const Operand* bias;
  const Then* then = nullptr;

  const Operand& result() const { return *result_of(direction, &x, &w, &y); }
};

// An operand's memory as T in the order of `strides`: its own where it lies so, else a buffer, which an input
// fills and a result is stored from.
template <class T>
class Laid {
 public:
  Laid(const Operand& o, Dims strides, bool is_input)
      : operand_(o), strides_(std::move(strides)), data_(o.as<T>()) {
    if (o.dtype == dtype_of<T> && same_walk(*o.sizes, *o.strides, strides_)) return;
    buffer_ = Scratch(static_cast<size_t>(o.count()) * sizeof(T));
    data_ = buffer_.as<T>();
    if (is_input) copy_cast(dense(), operand_);
  }
  T* data() const { return data_; }
  void store() {
    if (buffer_.get()) copy_cast(operand_, dense());
  }

 private:
  Operand dense() const { return {data_, operand_.sizes, &strides_, dtype_of<T>}; }

  const Operand& operand_;
  Dims strides_;
  Scratch buffer_;
  T* data_;
};

Dims wanted_strides(const Operand& o, bool channels_last) {
  return channels_last ? channels_last_strides(*o.sizes) : contiguous_strides(*o.sizes);
}

// A Then whose operands lie as y does.
class LaidThen {
 public:
  LaidThen(const Then& then, const Operand& y, const float* data, bool channels_last)
      : epilogue_{.y = data, .relu = then.relu} {
    if (then.shift) {
      epilogue_.shift = shift_.emplace(*then.shift).data();
      epilogue_.scale = scale_.emplace(*then.scale).data();
    }
    if (then.residual)
      epilogue_.residual = residual_.emplace(*then.residual, wanted_strides(y, channels_last), true).data();
  }
  const ConvEpilogue& get() const { return epilogue_; }

 private:
  std::optional<Contiguous<float>> shift_, scale_;
  std::optional<Laid<float>> residual_;
  ConvEpilogue epilogue_;
};

// In the layouts that tensors have: channels-last where the result has it, and where that is so much faster
// that it pays to copy there and back. False where oneDNN cannot.
bool through_onednn(const Operands& o, ConvGeometry g) {
  auto last = [](const Operand& operand) { return is_channels_last(*operand.sizes, *operand.strides); };
  g.channels_last = last(o.x) || last(o.y) || winograd_applies(o.direction, g);
  g.weight_last = last(o.w);
  auto laid = [&](const Operand& operand, bool channels_last) {
    return Laid<float>(operand, wanted_strides(operand, channels_last), &operand != &o.result());
  };
  auto x = laid(o.x, g.channels_last), w = laid(o.w, g.weight_last), y = laid(o.y, g.channels_last);
  std::optional<Contiguous<float>> bias;
  if (o.bias) bias.emplace(*o.bias);
  std::optional<LaidThen> then;
  if (o.then) then.emplace(*o.then, o.y, y.data(), g.channels_last);
  bool forward = o.direction == ConvDirection::kForward;
  if (!onednn_convolution(o.direction, g, x.data(), w.data(), forward && bias ? bias->data() : nullptr,
                          y.data(), then ? &then->get() : nullptr))
    return false;
  if (bias && !forward && g.channels_last)
    add_bias_last(x.data(), g.images * g.in_positions(), g.in_channels, bias->data());
  else if (bias && !forward)
    add_bias(x.data(), g.images, g.in_channels, g.in_positions(), bias->data());
  result_of(o.direction, &x, &w, &y)->store();
  return true;
}

// Runs body<T>() with the type that a dtype is computed in.
template <class Body>
void with_type(DType dtype, const char* op, Body&& body) {
  dispatch_number(dtype, op, [&]<class T>() {
    if constexpr (is_half_type<T>)
      body.template operator()<float>();
    else
      body.template operator()<T>();
  });
}

void run(const KernelContext& k, const Operands& o, const ConvGeometry& g) {
  DType dtype = o.result().dtype;
  if ((dtype == DType::kFloat32 || is_half(dtype)) && !is_empty(g) && through_onednn(o, g)) return;
  with_type(dtype, k.op, [&]<class T>() {
    auto laid = [&](const Operand& operand) {
      return Laid<T>(operand, contiguous_strides(*operand.sizes), &operand != &o.result());
    };
    auto x = laid(o.x), w = laid(o.w), y = laid(o.y);
    std::optional<Contiguous<T>> bias;
    if (o.bias) bias.emplace(*o.bias);
    convolve<T>(o.direction, g, x.data(), w.data(), bias ? bias->data() : nullptr, y.data(),
                o.result().count());
    if constexpr (std::is_same_v<T, float>) {
      if (o.then) {
        LaidThen then(*o.then, o.y, y.data(), false);
        for (int64_t i = 0; i < g.images; i++)
          then.get().on_planes(y.data() + i * g.out_channels * g.out_positions(), g.out_positions(), 0,
                               g.out_channels);
      }
    }
    result_of(o.direction, &x, &w, &y)->store();
  });
}

void convolution_kernel(KernelContext& k) {
  const auto& a = k.attrs<ConvolutionAttrs>();
  const Operand &x = a.transposed ? k.out() : k.in(0), &y = a.transposed ? k.in(0) : k.out();
  run(k,
      {a.transposed ? ConvDirection::kInput : ConvDirection::kForward, x, k.in(1), y,
       k.in(2).present() ? &k.in(2) : nullptr},
      conv_geometry(*x.sizes, *k.in(1).sizes, *y.sizes, a.stride, a.padding, a.dilation, a.groups));
}

void convolution_then_kernel(KernelContext& k) {
  const auto& a = k.attrs<ConvolutionThenAttrs>();
  auto optional = [&](int i) { return k.in(i).present() ? &k.in(i) : nullptr; };
  Then then{optional(3), optional(4), optional(5), a.relu};
  run(k, {ConvDirection::kForward, k.in(0), k.in(1), k.out(), optional(2), &then},
      conv_geometry(*k.in(0).sizes, *k.in(1).sizes, *k.out().sizes, a.stride, a.padding, a.dilation,
                    a.groups));
}

void convolution_weight_kernel(KernelContext& k) {
  const auto& a = k.attrs<ConvolutionWeightAttrs>();
  const Operand &y = k.in(0), &x = k.in(1), &w = k.out();
  run(k, {ConvDirection::kWeight, x, w, y, nullptr},
      conv_geometry(*x.sizes, *w.sizes, *y.sizes, a.stride, a.padding, a.dilation, a.groups));
}

}  // namespace

void kernels_convolution(KernelTable& table) {
  table.add("convolution", convolution_kernel);
  table.add("convolution_then", convolution_then_kernel);
  table.add("convolution_weight", convolution_weight_kernel);
}

}  // namespace tw::ops

// Kernels of convolution and convolution_weight. float32 goes to oneDNN (see ops/onednn_convolution_cpu.h),
// the half types there through float32 copies; other dtypes gather windows into a matrix (im2col) and
// multiply:
//
//   columns[C/g · K, P] of one image and group: y = W · columns, x = scatter(Wᵀ · y), w = Σ y · columnsᵀ
#include "ops/conv/convolution.h"

#include <algorithm>

#include "device/cpu/contiguous.h"
#include "device/cpu/gemm.h"
#include "device/cpu/parallel.h"
#include "device/cpu/product.h"
#include "ops/columns_cpu.h"
#include "ops/onednn_convolution_cpu.h"

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

template <class T>
void convolve(ConvDirection direction, const ConvGeometry& g, T* x, T* w, const T* bias, T* y) {
  T* result = direction == ConvDirection::kForward ? y : direction == ConvDirection::kInput ? x : w;
  int64_t x_count = g.images * g.in_channels * g.in_positions(),
          y_count = g.images * g.out_channels * g.out_positions();
  bool forward = direction == ConvDirection::kForward, done = false;
  if (x_count == 0 || y_count == 0 || g.weight_count() == 0) {
    int64_t count = forward ? y_count : direction == ConvDirection::kInput ? x_count : g.weight_count();
    std::fill_n(result, count, T(0));
  } else if constexpr (std::is_same_v<T, float>) {
    done = onednn_convolution(direction, g, x, w, forward ? bias : nullptr, y);
    if (!done) by_columns(direction, g, x, w, y);
  } else {
    by_columns(direction, g, x, w, y);
  }
  if (!bias || (forward && done)) return;
  if (forward)
    add_bias(y, g.images, g.out_channels, g.out_positions(), bias);
  else
    add_bias(x, g.images, g.in_channels, g.in_positions(), bias);
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

void convolution_kernel(KernelContext& k) {
  const auto& a = k.attrs<ConvolutionAttrs>();
  with_type(k.out().dtype, k.op, [&]<class T>() {
    Contiguous<T> input(k.in(0)), weight(k.in(1));
    ConvertedResult<T> result(k.out());
    const Dims &x = a.transposed ? *k.out().sizes : *k.in(0).sizes,
               &y = a.transposed ? *k.in(0).sizes : *k.out().sizes;
    ConvGeometry g = conv_geometry(x, *k.in(1).sizes, y, a.stride, a.padding, a.dilation, a.groups);
    auto run = [&](const T* bias) {
      if (a.transposed)
        convolve<T>(ConvDirection::kInput, g, result.data(), weight.data(), bias, input.data());
      else
        convolve<T>(ConvDirection::kForward, g, input.data(), weight.data(), bias, result.data());
    };
    if (k.in(2).present())
      run(Contiguous<T>(k.in(2)).data());
    else
      run(nullptr);
    result.finish();
  });
}

void convolution_weight_kernel(KernelContext& k) {
  const auto& a = k.attrs<ConvolutionWeightAttrs>();
  with_type(k.out().dtype, k.op, [&]<class T>() {
    Contiguous<T> grad(k.in(0)), input(k.in(1));
    ConvertedResult<T> result(k.out());
    ConvGeometry g = conv_geometry(*k.in(1).sizes, *k.out().sizes, *k.in(0).sizes, a.stride, a.padding,
                                   a.dilation, a.groups);
    convolve<T>(ConvDirection::kWeight, g, input.data(), result.data(), nullptr, grad.data());
    result.finish();
  });
}

}  // namespace

void kernels_convolution(KernelTable& table) {
  table.add("convolution", convolution_kernel);
  table.add("convolution_weight", convolution_weight_kernel);
}

}  // namespace tw::ops

// flip, pad_constant, tril, triu. flip is a copy through strides that run backwards, element by element; pad
// a fill and a copy of the window that both share; the triangles read and write each element once. Floor:
// bytes over the bandwidth.
//
// Per element: 8 bytes and 5 operations (flip, float32).
#include <algorithm>
#include <cstring>

#include "cuda/common/copy.h"
#include "cuda/common/dense.h"
#include "cuda/common/pointwise.h"
#include "ops/movement/cat.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

constexpr int kThreads = block_threads(256);

void flip_kernel(KernelContext& k) {
  Operand x = k.in(0);
  if (x.count() == 0) return;
  Dims strides = *x.strides;
  char* data = x.as<char>();
  for (int64_t d : wrap_dims(k.attrs<ops::FlipAttrs>().dims, x.rank(), k.op)) {
    if (x.rank() == 0) continue;
    data += (x.size(d) - 1) * strides[d] * size_of(x.dtype);
    strides[d] = -strides[d];
  }
  copy_cast(k.out(), {data, x.sizes, &strides, x.dtype}, k.op);
}

template <class T>
struct Constant {
  T value;
  TW_DEVICE T operator()() const { return value; }
};

void fill(const Operand& out, const Scalar& value, const char* op) {
  alignas(16) char bytes[16] = {};
  dispatch_all(out.dtype, "pad", [&]<class T>() {
    T element = T(value.to<compute_t<T>>());
    std::memcpy(bytes, &element, sizeof(T));
  });
  dispatch_bytes(out.dtype, [&]<class T>() {
    Constant<T> constant;
    std::memcpy(&constant.value, bytes, sizeof(T));
    pointwise_over(Types<T>{}, Types<>{}, {&out}, {}, op, constant);
  });
}

void pad_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::PadAttrs>();
  const Operand &x = k.in(0), &out = k.out();
  if (std::any_of(a.pad.begin(), a.pad.end(), [](int64_t p) { return p > 0; })) fill(out, a.value, k.op);
  // The window that input and result share.
  Dims sizes = *x.sizes;
  int64_t from = 0, to = 0;
  for (size_t i = 0; i < a.pad.size() / 2; i++) {
    int64_t d = x.rank() - 1 - static_cast<int64_t>(i), before = a.pad[2 * i], after = a.pad[2 * i + 1];
    from += std::max<int64_t>(0, -before) * x.stride(d);
    to += std::max<int64_t>(0, before) * out.stride(d);
    sizes[d] += std::min<int64_t>(0, before) + std::min<int64_t>(0, after);
    if (sizes[d] <= 0) return;
  }
  int size = size_of(x.dtype);
  copy_cast({out.as<char>() + to * size, &sizes, out.strides, out.dtype},
            {x.as<char>() + from * size, &sizes, x.strides, x.dtype}, k.op);
}

// Row-major matrices: column - row of what stays is at most `diagonal` (lower) or at least it.
template <class T>
__global__ void __launch_bounds__(kThreads) triangle_kernel(const T* in, T* out, int64_t count, int64_t rows,
                                                            int64_t columns, int64_t diagonal, bool lower) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  int64_t distance = i % columns - i / columns % rows;
  out[i] = (lower ? distance <= diagonal : distance >= diagonal) ? in[i] : T{};
}

template <bool kLower>
void triangle(KernelContext& k) {
  const Operand& out = k.out();
  if (out.count() == 0) return;
  int64_t rows = out.size(-2), columns = out.size(-1);
  // Limited to the nearest diagonals outside of the matrix: they select the same.
  int64_t diagonal = std::clamp<int64_t>(k.attrs<ops::TriangleAttrs>().diagonal, -rows - 1, columns + 1);
  dispatch_bytes(out.dtype, [&]<class T>() {
    Dims strides = contiguous_strides(*out.sizes);
    auto bytes = static_cast<size_t>(out.count()) * sizeof(T);
    bool dense = k.in(0).contiguous();
    DeviceScratch input(dense ? 0 : bytes), result(out.contiguous() ? 0 : bytes);
    void* from = dense ? k.in(0).data : input.as<void>();
    void* to = out.contiguous() ? out.data : result.as<void>();
    if (!dense) copy_cast({from, out.sizes, &strides, out.dtype}, k.in(0), k.op);
    launch(k.op, triangle_kernel<T>,
           {static_cast<unsigned>((out.count() + kThreads - 1) / kThreads), kThreads},
           static_cast<const T*>(from), static_cast<T*>(to), out.count(), rows, columns, diagonal, kLower);
    if (to != out.data) copy_cast(out, {to, out.sizes, &strides, out.dtype}, k.op);
  });
}

}  // namespace

void kernels_flip(device::KernelTable& table) {
  table.add("flip", flip_kernel);
  table.add("pad_constant", pad_kernel);
  table.add("tril", triangle<true>);
  table.add("triu", triangle<false>);
}

}  // namespace tw::cuda

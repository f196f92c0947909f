// Copies through strides that run backwards, into windows, and row by row. Floor: every byte read and written
// once.
#include "device/cpu/cast.h"
#include "device/cpu/loops.h"
#include "device/cpu/parallel.h"
#include "ops/movement/cat.h"

namespace tw::ops {

using namespace device;

namespace {

void flip_kernel(KernelContext& k) {
  Operand x = k.in(0);
  if (x.count() == 0) return;
  Dims strides = *x.strides;
  char* data = x.as<char>();
  for (int64_t d : wrap_dims(k.attrs<FlipAttrs>().dims, x.rank(), k.op)) {
    if (x.rank() == 0) continue;
    data += (x.size(d) - 1) * strides[d] * size_of(x.dtype);
    strides[d] = -strides[d];
  }
  copy_cast(k.out(), Operand{data, x.sizes, &strides, x.dtype});
}

void fill(const Operand& out, const Scalar& value) {
  dispatch_all(out.dtype, "pad", [&]<class T>() {
    auto v = value.to<compute_t<T>>();
    nullary_loop<T>(out, [v] { return v; });
  });
}

void pad_kernel(KernelContext& k) {
  const auto& a = k.attrs<PadAttrs>();
  const Operand &x = k.in(0), &out = k.out();
  bool grows = false;
  for (int64_t p : a.pad) grows |= p > 0;
  if (grows) fill(out, a.value);
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
  copy_cast(Operand{out.as<char>() + to * size, &sizes, out.strides, out.dtype},
            Operand{x.as<char>() + from * size, &sizes, x.strides, x.dtype});
}

// Columns [first, last) of each row stay; `limits` gives them for row i.
template <class T, class Limits>
void triangle(const Operand& x, const Operand& out, Limits limits) {
  int64_t rows = out.size(-2), columns = out.size(-1);
  if (out.count() == 0) return;
  int64_t all = out.count() / columns, x_step = x.stride(-1), out_step = out.stride(-1);
  parallel_for(0, all, std::max<int64_t>(1, 16384 / columns), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; row++) {
      const T* from = x.as<const T>();
      T* to = out.as<T>();
      int64_t rest = row;
      for (int64_t d = out.rank() - 2; d >= 0; d--) {
        from += rest % out.size(d) * x.stride(d);
        to += rest % out.size(d) * out.stride(d);
        rest /= out.size(d);
      }
      auto [first, last] = limits(row % rows);
      for (int64_t c = 0; c < first; c++) to[c * out_step] = T{};
      if (to != from)
        for (int64_t c = first; c < last; c++) to[c * out_step] = from[c * x_step];
      for (int64_t c = last; c < columns; c++) to[c * out_step] = T{};
    }
  });
}

// The diagonal, limited to the nearest ones outside the matrix: they select the same.
int64_t diagonal_within(KernelContext& k) {
  return std::clamp<int64_t>(k.attrs<TriangleAttrs>().diagonal, -k.out().size(-2) - 1, k.out().size(-1) + 1);
}

void tril_kernel(KernelContext& k) {
  int64_t diagonal = diagonal_within(k), columns = k.out().size(-1);
  dispatch_bytes(k.out().dtype, [&]<class T>() {
    triangle<T>(k.in(0), k.out(), [=](int64_t row) {
      return std::pair<int64_t, int64_t>(0, std::clamp<int64_t>(row + diagonal + 1, 0, columns));
    });
  });
}

void triu_kernel(KernelContext& k) {
  int64_t diagonal = diagonal_within(k), columns = k.out().size(-1);
  dispatch_bytes(k.out().dtype, [&]<class T>() {
    triangle<T>(k.in(0), k.out(), [=](int64_t row) {
      return std::pair<int64_t, int64_t>(std::clamp<int64_t>(row + diagonal, 0, columns), columns);
    });
  });
}

}  // namespace

void kernels_flip(KernelTable& table) {
  table.add("flip", flip_kernel);
  table.add("pad_constant", pad_kernel);
  table.add("tril", tril_kernel);
  table.add("triu", triu_kernel);
}

}  // namespace tw::ops

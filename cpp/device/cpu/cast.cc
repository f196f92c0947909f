#include "device/cpu/cast.h"

#include <algorithm>
#include <cstring>

#include "device/cpu/loops.h"
#include "device/cpu/parallel.h"
#include "device/cpu/strided.h"

namespace tw::device {

namespace {

constexpr int64_t kTile = 32;              // elements along each side of a transposed tile
constexpr int64_t kCopyGrain = 512 << 10;  // bytes that are worth a thread

// The dim of a copy along which the input is contiguous, where that is not the innermost one; -1 otherwise.
int transposed_dim(const detail::StridedSpace& space, int64_t size) {
  if (space.rank() < 2 || space.inner_stride(0) != size || space.inner_stride(1) == size) return -1;
  for (int d = space.rank() - 2; d >= 0; d--) {
    if (space.dim(d).stride[1] == size && space.dim(d).size >= 4) return d;
  }
  return -1;
}

// One tile, by way of a buffer, so that both sides are touched in whole runs.
template <class T>
void transpose_tile(char* out, const char* in, int64_t out_step, int64_t in_step, int64_t rows,
                    int64_t columns) {
  T tile[kTile][kTile];
  for (int64_t c = 0; c < columns; c++) {
    auto* run = reinterpret_cast<const T*>(in + c * in_step);
    for (int64_t r = 0; r < rows; r++) tile[r][c] = run[r];
  }
  for (int64_t r = 0; r < rows; r++) std::memcpy(out + r * out_step, tile[r], columns * sizeof(T));
}

// Rows run along dim `across` (contiguous in the input), columns along the innermost dim (contiguous in the
// output).
template <class T>
void copy_transposed(const detail::StridedSpace& space, int across) {
  SmallVector<detail::StridedSpace::Dim, 4> rest;
  for (int d = 0; d < space.rank() - 1; d++) {
    if (d != across) rest.push_back(space.dim(d));
  }
  const uint8_t sizes[] = {sizeof(T), sizeof(T)};
  char* data[] = {space.data(0), space.data(1)};
  detail::StridedSpace outer(rest, data, sizes, 2);
  const detail::StridedSpace::Dim &row = space.dim(across), &column = space.dim(space.rank() - 1);
  int64_t bands = (row.size + kTile - 1) / kTile;
  int64_t grain = std::max<int64_t>(1, kCopyGrain / (kTile * column.size * static_cast<int64_t>(sizeof(T))));
  parallel_for(0, outer.count() * bands, grain, [&](int64_t first, int64_t last) {
    for (int64_t task = first; task < last; task++) {
      detail::StridedCursor at(outer, task / bands);
      int64_t r = task % bands * kTile, rows = std::min(kTile, row.size - r);
      for (int64_t c = 0; c < column.size; c += kTile) {
        transpose_tile<T>(at.data(0) + r * row.stride[0] + c * column.stride[0],
                          at.data(1) + r * row.stride[1] + c * column.stride[1], row.stride[0],
                          column.stride[1], rows, std::min(kTile, column.size - c));
      }
    }
  });
}

void copy_bytes(const Operand& out, const Operand& in) {
  int64_t size = size_of(out.dtype);
  if (*out.sizes == *in.sizes && out.contiguous() && in.contiguous()) {
    if (out.data == in.data) return;
    parallel_for(0, out.count() * size, kCopyGrain, [&](int64_t first, int64_t last) {
      std::memcpy(out.as<char>() + first, in.as<char>() + first, last - first);
    });
    return;
  }
  dispatch_bytes(out.dtype, [&]<class T>() {
    const uint8_t sizes[] = {sizeof(T), sizeof(T)};
    const Operand* operands[] = {&out, &in};
    detail::StridedSpace space(operands, sizes, 2);
    int across = space.count() > 0 ? transposed_dim(space, sizeof(T)) : -1;
    if (across >= 0) return copy_transposed<T>(space, across);
    unary_loop<T, T>(out, in, [](T value) { return value; });
  });
}

}  // namespace

void copy_cast(const Operand& out, const Operand& in) {
  if (out.dtype == in.dtype) return copy_bytes(out, in);
  dispatch_all(in.dtype, "copy", [&]<class In>() {
    dispatch_all(out.dtype, "copy", [&]<class Out>() {
      if constexpr (!std::is_same_v<In, Out>) {
        // Bytes of a bool are 0 or 1 already after convert: they are stored as they are.
        using Stored = stored_t<Out>;
        unary_loop<In, Stored>(out, in, [](compute_t<In> value) { return convert<Out>(value); });
      }
    });
  });
}

}  // namespace tw::device

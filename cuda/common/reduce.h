// Reductions over any dims of a strided operand, in one pass or two.
//
//   struct Sum { Acc none() const; Acc map(float x) const; Acc combine(Acc a, Acc b) const; auto finish(Acc
//   a) const; }; reduce<T, Acc>(k.in(0), k.out(), mask, k.op, Sum{});
//
// A finished result becomes an element of the output's dtype, which has to be one that fits it.
//
// In rows, where the dims that go are the denser ones: a warp a result of up to kWarpRow elements, else a
// block, each thread folding its elements, then the threads by a fixed tree. In columns, where a dim that
// stays is the denser one: a warp reads neighbouring results side by side, the warps of a block share the
// elements, and meet in shared memory. Where results are too few to fill a device, each is cut into slices,
// whose parts a second launch combines. All of that depends on shapes alone, so that results do not depend on
// the device.
//
// Bytes: the input once and the results; the parts are a slice's length less. Floor: these over the
// bandwidth.
#pragma once

#include "cuda/common/any_dtype.h"
#include "cuda/common/launch.h"
#include "cuda/common/reduce_shape.h"
#include "cuda/common/vector.h"
#include "cuda/common/warp.h"
#include "cuda/device/scratch.h"

namespace tw::cuda {

inline constexpr int kReduceThreads = block_threads(256);
inline constexpr int kReduceWarps = kReduceThreads / kLanes;
inline constexpr int64_t kWarpRow = 1024;    // elements that a warp folds alone
inline constexpr int64_t kSlice = 16384;     // elements of a slice
inline constexpr int64_t kFewOutputs = 256;  // results that leave processors idle, at a block each

// What one pass reads and where it puts what it made: results, or parts for a second one.
struct ReducePass {
  const char* in;
  char* out;
  DType dtype;  // of the results
  int element_bytes;
  void* parts;  // null: results are finished
  ReduceShape shape;
  int64_t slices;
};

// What a reduction does may depend on the result, by its place in `out`: F of_result(int64_t element) const.
template <class F>
TW_DEVICE F of_result(const F& f, const ReducePass& pass, int64_t out) {
  if constexpr (requires { f.of_result(out); })
    return f.of_result(out / pass.element_bytes);
  else
    return f;
}

template <class F, class Acc>
TW_DEVICE void put_result(const F& f, const ReducePass& pass, int64_t output, int64_t slice, int64_t out,
                          Acc value) {
  if (pass.parts)
    static_cast<Acc*>(pass.parts)[slice * pass.shape.outputs + output] = value;
  else
    store_as(pass.out + out, pass.dtype, 0, of_result(f, pass, out).finish(value));
}

// The elements [first, last) of a row by every kThreads-th thread; 16 bytes at a time where kPack > 1.
template <class In, class Acc, int kPack, class F>
TW_DEVICE Acc fold_row(const F& f, const char* row, const ReduceShape& shape, int64_t first, int64_t last,
                       int thread, int threads) {
  Acc total = f.none();
  if constexpr (kPack > 1) {
    auto* at = reinterpret_cast<const stored_t<In>*>(row);
    int64_t packed = first + (last - first) / kPack * kPack;
    for (int64_t r = first + thread * kPack; r < packed; r += int64_t{threads} * kPack) {
      auto pack = load_pack<kPack>(at + r);
      TW_UNROLL
      for (int j = 0; j < kPack; j++) total = f.combine(total, f.map(load<In>(pack.at[j])));
    }
    for (int64_t r = packed + thread; r < last; r += threads)
      total = f.combine(total, f.map(load<In>(at[r])));
  } else {
    for (int64_t r = first + thread; r < last; r += threads)
      total =
          f.combine(total, f.map(load<In>(*reinterpret_cast<const stored_t<In>*>(row + shape.element(r)))));
  }
  return total;
}

// A warp a row, or the block.
template <class In, class Acc, int kPack, class F>
__global__ void __launch_bounds__(kReduceThreads) reduce_rows(F f, ReducePass pass, bool by_warps) {
  int64_t task = by_warps ? static_cast<int64_t>(blockIdx.x) * kReduceWarps + warp_index() : blockIdx.x;
  int thread = by_warps ? lane_index() : static_cast<int>(threadIdx.x);
  bool there = task < pass.shape.outputs * pass.slices;
  int64_t output = there ? task / pass.slices : 0, slice = there ? task % pass.slices : 0, in = 0, out = 0;
  pass.shape.output(output, &in, &out);
  int64_t first = pass.slices > 1 ? slice * kSlice : 0;
  int64_t last = pass.slices > 1 && first + kSlice < pass.shape.reduced ? first + kSlice : pass.shape.reduced;
  if (!there) last = first;
  F own = of_result(f, pass, out);
  int threads = by_warps ? kLanes : kReduceThreads;
  Acc total = fold_row<In, Acc, kPack>(own, pass.in + in, pass.shape, first, last, thread, threads);
  auto combine = [&f](Acc a, Acc b) { return f.combine(a, b); };
  total = warp_reduce(total, combine);
  if (!by_warps) total = reduce_warps<kReduceThreads>(total, f.none(), combine);
  if (there && thread == 0) put_result(f, pass, output, slice, out, total);
}

// A block has kLanes * kPack neighbouring results and one slice of their elements.
template <class In, class Acc, int kPack, class F>
__global__ void __launch_bounds__(kReduceThreads) reduce_columns(F f, ReducePass pass) {
  constexpr int kColumns = kLanes * kPack;
  TW_SHARED(Acc, parts, kReduceWarps * kColumns);
  int64_t groups = (pass.shape.outputs + kColumns - 1) / kColumns;
  int64_t group = blockIdx.x % groups, slice = blockIdx.x / groups;
  int64_t column = group * kColumns + lane_index() * kPack, in = 0, out = 0;
  bool there = column < pass.shape.outputs;
  if (there) pass.shape.output(column, &in, &out);
  int64_t rows = (pass.shape.reduced + pass.slices - 1) / pass.slices;
  int64_t first = slice * rows, last = first + rows < pass.shape.reduced ? first + rows : pass.shape.reduced;
  Acc totals[kPack];
  TW_UNROLL
  for (int j = 0; j < kPack; j++) totals[j] = f.none();
  // Neighbours in the input need not be so among the results.
  int64_t places[kPack];
  TW_UNROLL
  for (int j = 0; j < kPack; j++) {
    int64_t unused = 0;
    places[j] = out;
    if constexpr (kPack > 1 && requires { f.of_result(out); })
      if (there) pass.shape.output(column + j, &unused, &places[j]);
  }
  for (int64_t r = first + warp_index(); r < last && there; r += kReduceWarps) {
    auto pack = load_pack<kPack>(reinterpret_cast<const stored_t<In>*>(pass.in + in + pass.shape.element(r)));
    TW_UNROLL
    for (int j = 0; j < kPack; j++)
      totals[j] = f.combine(totals[j], of_result(f, pass, places[j]).map(load<In>(pack.at[j])));
  }
  TW_UNROLL
  for (int j = 0; j < kPack; j++) parts[warp_index() * kColumns + j * kLanes + lane_index()] = totals[j];
  __syncthreads();
  for (int c = static_cast<int>(threadIdx.x); c < kColumns; c += kReduceThreads) {
    Acc total = f.none();
    for (int warp = 0; warp < kReduceWarps; warp++) total = f.combine(total, parts[warp * kColumns + c]);
    int64_t output = group * kColumns + c % kLanes * kPack + c / kLanes, unused = 0, at = 0;
    if (output >= pass.shape.outputs) continue;
    pass.shape.output(output, &unused, &at);
    put_result(f, pass, output, slice, at, total);
  }
}

// The second pass: parts are what the first one's map made.
template <class F, class Acc>
struct CombineParts {
  F f;
  TW_DEVICE Acc none() const { return f.none(); }
  TW_DEVICE Acc map(Acc part) const { return part; }
  TW_DEVICE Acc combine(Acc a, Acc b) const { return f.combine(a, b); }
  TW_DEVICE auto finish(Acc total) const { return f.finish(total); }
  TW_DEVICE CombineParts of_result(int64_t at) const
    requires requires(const F& any) { any.of_result(at); }
  {
    return {f.of_result(at)};
  }
};

namespace detail {

// Whether 16 bytes can be read at a time along a dense dim, whatever the other dims add.
inline bool is_packed(const ReducePass& pass, bool rows, int element_bytes, int pack) {
  const ReduceShape& s = pass.shape;
  bool fits = is_aligned(pass.in) && pack > 1;
  for (int d = rows ? 0 : 1; d < s.kept_rank; d++) fits = fits && s.kept_in[d] % kVectorBytes == 0;
  for (int d = rows ? 1 : 0; d < s.reduced_rank; d++) fits = fits && s.gone_in[d] % kVectorBytes == 0;
  if (rows) return fits && s.reduced_rank == 1 && s.gone_in[0] == element_bytes;
  return fits && s.kept_in[0] == element_bytes && s.kept[0].divisor % pack == 0;
}

template <class In, class Acc, int kPack, class F>
void launch_rows(const ReducePass& pass, const char* op, const F& f) {
  bool packed = is_packed(pass, true, sizeof(stored_t<In>), kPack);
  bool by_warps = pass.shape.reduced <= kWarpRow && pass.slices == 1;
  auto kernel = packed ? reduce_rows<In, Acc, kPack, F> : reduce_rows<In, Acc, 1, F>;
  int64_t rows = by_warps ? kReduceWarps : 1, tasks = pass.shape.outputs * pass.slices;
  launch(op, kernel, {static_cast<unsigned>((tasks + rows - 1) / rows), kReduceThreads}, f, pass, by_warps);
}

template <class In, class Acc, int kPack, class F>
void launch_columns(const ReducePass& pass, const char* op, const F& f) {
  bool packed = is_packed(pass, false, sizeof(stored_t<In>), kPack);
  int64_t columns = packed ? kLanes * kPack : kLanes;
  int64_t blocks = (pass.shape.outputs + columns - 1) / columns * pass.slices;
  auto kernel = packed ? reduce_columns<In, Acc, kPack, F> : reduce_columns<In, Acc, 1, F>;
  launch(op, kernel, {static_cast<unsigned>(blocks), kReduceThreads}, f, pass);
}

}  // namespace detail

template <class In, class Acc, class F>
void reduce(const device::Operand& in, const device::Operand& out, uint64_t mask, const char* op,
            const F& f) {
  if (out.count() == 0) return;
  using Result = decltype(f.finish(Acc()));
  TW_ASSERT(fitting_t<Result>::has(out.dtype), ==, true);
  ReducePass pass{static_cast<const char*>(in.data),
                  static_cast<char*>(out.data),
                  out.dtype,
                  static_cast<int>(size_of(out.dtype)),
                  nullptr,
                  reduce_shape(in, out, mask, op),
                  1};
  ReduceShape& shape = pass.shape;
  bool columns = shape.outputs > 1 && shape.kept_in[0] == static_cast<int64_t>(sizeof(stored_t<In>)) &&
                 (shape.reduced_rank > 1 || shape.gone_in[0] != static_cast<int64_t>(sizeof(stored_t<In>)));
  int64_t busy = columns ? (shape.outputs + kLanes - 1) / kLanes : shape.outputs;
  int64_t slice = columns ? kSlice / kLanes : kSlice;
  if (busy < kFewOutputs && shape.reduced > 2 * slice) pass.slices = (shape.reduced + slice - 1) / slice;
  constexpr int kPack = pack_count(sizeof(stored_t<In>));
  auto run = [&](const ReducePass& one) {
    // A pack's totals live in registers and in shared memory: those of 8 elements are enough of them.
    if (columns)
      detail::launch_columns<In, Acc, (kPack < 8 ? kPack : 8)>(one, op, f);
    else
      detail::launch_rows<In, Acc, kPack>(one, op, f);
  };
  if (pass.slices == 1) return run(pass);
  DeviceScratch parts(static_cast<size_t>(shape.outputs * pass.slices) * sizeof(Acc));
  pass.parts = parts.as<void>();
  run(pass);
  // Part s of output o lies at s * outputs + o. There are few: they are read one by one.
  ReducePass second = pass;
  second.in = parts.as<const char>();
  second.parts = nullptr;
  second.slices = 1;
  second.shape.reduced = pass.slices;
  second.shape.reduced_rank = 1;
  second.shape.gone_in[0] = shape.outputs * static_cast<int64_t>(sizeof(Acc));
  int64_t stride = sizeof(Acc);
  for (int d = 0; d < shape.kept_rank; d++) {
    second.shape.kept_in[d] = stride;
    stride *= shape.kept[d].divisor;
  }
  CombineParts<F, Acc> again{f};
  if (shape.outputs > 1)
    detail::launch_columns<Acc, Acc, 1>(second, op, again);
  else
    detail::launch_rows<Acc, Acc, 1>(second, op, again);
}

}  // namespace tw::cuda

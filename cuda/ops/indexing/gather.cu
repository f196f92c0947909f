// gather, scatter_elements.
//
// gather: a thread an element of the index. Bytes: the index and the result once, of the input a sector of 32
// bytes an element where neighbours do not name neighbours. Floor: these over the bandwidth.
//
// scatter_elements: places meet within a line of the index only, so each line is sorted for itself
// (common/sorted_rows.h) and folded in order (common/fold_places.h): no atomic sums, the same result in every
// run. Bytes: the sort's, the input copied, src read and what is named written once.
//
// Per element: 16 bytes and 10 operations (gather of neighbours, float32).
#include "ops/indexing/gather.h"

#include <bit>

#include "cuda/common/copy.h"
#include "cuda/common/fold_places.h"
#include "cuda/common/mistakes.h"
#include "cuda/common/rows.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

constexpr int kThreads = block_threads(256);

unsigned blocks_for(int64_t tasks) { return static_cast<unsigned>((tasks + kThreads - 1) / kThreads); }

// An operand with dims of the index: the index's sizes, its own strides. A 0-dim one has one element.
struct Lifted {
  Dims sizes, strides;
  Operand operand;
  Lifted(const Operand& x, const Dims& index_sizes) : sizes(index_sizes) {
    if (sizes.empty()) sizes.push_back(1);
    strides = x.rank() ? *x.strides : Dims(sizes.size(), 0);
    operand = {x.data, &sizes, &strides, x.dtype};
  }
  Lifted(const Lifted&) = delete;
  Lifted& operator=(const Lifted&) = delete;
};

// Which place of the indexed tensor an index names, `size` for none of this part.
struct PlaceRule {
  int64_t size, first, whole, dim;
  bool wide;  // int64, else int32
  MistakeNote wrong;

  TW_DEVICE int64_t operator()(const char* index, int64_t offset) const {
    int64_t value = wide ? *reinterpret_cast<const int64_t*>(index + offset)
                         : *reinterpret_cast<const int32_t*>(index + offset);
    if (value < 0 || value >= whole) wrong(value, size_of_dim(whole, dim));
    value -= first;
    return value < 0 || value >= size ? size : value;
  }
};

// The index of an op, and the tensor whose elements it names along `dim`.
class Places {
 public:
  template <class A>
  Places(const Operand& index, const Operand& indexed, const A& a, const char* op)
      : index(index, *index.sizes),
        dim(wrap_dim(a.dim, indexed.rank(), op)),
        step(indexed.rank() ? indexed.stride(dim) * size_of(indexed.dtype) : 0) {
    int64_t size = indexed.rank() ? indexed.size(dim) : 1;
    rule = {size,
            a.first,
            a.whole < 0 ? size : a.whole,
            dim,
            index.dtype == DType::kInt64,
            mistake_note(op, index_out_of_bounds)};
  }

  Lifted index;
  int64_t dim, step;  // bytes
  PlaceRule rule;
};

template <int kOperands>
Walk<kOperands> walk_of(const Dims& sizes, const Operand* const (&operands)[kOperands], const char* op) {
  Walk<kOperands> walk;
  int bytes[kOperands];
  for (int o = 0; o < kOperands; o++) {
    walk.data[o] = operands[o]->template as<char>();
    bytes[o] = size_of(operands[o]->dtype);
  }
  make_walk(merge_dims(sizes, operands), 1, bytes, op, &walk);
  return walk;
}

// Operands: result, index, input.
template <class T>
__global__ void __launch_bounds__(kThreads) gather_kernel(Walk<3> walk, PlaceRule rule, int64_t step) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= walk.steps) return;
  int64_t at[3];
  walk.offsets(i, at);
  int64_t place = rule(walk.data[1], at[1]);
  T value{};
  if (place < rule.size) value = *reinterpret_cast<const T*>(walk.data[2] + at[2] + place * step);
  *reinterpret_cast<T*>(walk.data[0] + at[0]) = value;
}

void gather_elements(KernelContext& k) {
  const Operand& out = k.out();
  if (out.count() == 0) return;
  Places places(k.in(1), k.in(0), k.attrs<ops::GatherAttrs>(), k.op);
  Lifted result(out, *k.in(1).sizes), input(k.in(0), *k.in(1).sizes);
  input.strides[places.dim] = 0;
  auto walk = walk_of<3>(result.sizes, {&result.operand, &places.index.operand, &input.operand}, k.op);
  dispatch_bytes(out.dtype, [&]<class T>() {
    launch(k.op, gather_kernel<T>, {blocks_for(walk.steps), kThreads}, walk, places.rule, places.step);
  });
}

// The index, line by line, as keys to sort. Operands: keys, index.
__global__ void __launch_bounds__(kThreads) write_index_keys(Walk<2> walk, PlaceRule rule) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= walk.steps) return;
  int64_t at[2];
  walk.offsets(i, at);
  *reinterpret_cast<uint32_t*>(walk.data[0] + at[0]) = static_cast<uint32_t>(rule(walk.data[1], at[1]));
}

// Operands: the tensor that is written, src.
struct LineMap {
  Rows<2> rows;
  int64_t step;  // bytes along dim

  TW_DEVICE char* to(int64_t line, uint32_t key, uint32_t, int64_t) const {
    char* at[2];
    rows.at(line, at);
    return at[0] + key * step;
  }
  TW_DEVICE const char* from(int64_t line, uint32_t place, int64_t) const {
    char* at[2];
    rows.at(line, at);
    return at[1] + place * rows.steps[1];
  }
};

// Divides the sum of each run by how many went into it, with `more` beside the run's; whole numbers round
// down.
template <class T>
__global__ void __launch_bounds__(kThreads)
    divide_by_counts(PlaceLists<uint32_t> lists, LineMap map, int more, int64_t tasks) {
  int64_t task = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (task >= tasks) return;
  int64_t line = task / lists.count, s = task % lists.count;
  const uint32_t* keys = lists.keys + line * lists.step;
  uint32_t key = keys[s];
  if (key >= lists.limit || (s > 0 && keys[s - 1] == key)) return;
  int64_t end = count_below(keys, s, lists.count, key + 1), count = end - s + more;
  if (count <= 1) return;
  auto* to = reinterpret_cast<stored_t<T>*>(map.to(line, key, 0, 0));
  if constexpr (std::is_integral_v<T>) {
    *to = store<T>(ops::mean_of_integers(*to, count));
  } else if constexpr (!is_device_complex<T>) {
    *to = store<T>(load<T>(*to) / static_cast<compute_t<T>>(count));
  } else {
    auto z = load<T>(*to);
    auto by = static_cast<decltype(z.re)>(count);
    *to = store<T>(T{z.re / by, z.im / by});
  }
}

void fold_lines(const PlaceLists<uint32_t>& lists, const LineMap& map, DType dtype,
                const ops::ScatterAttrs& a) {
  Fold fold = a.reduce == "prod"   ? Fold::kProduct
              : a.reduce == "amax" ? Fold::kLargest
              : a.reduce == "amin" ? Fold::kSmallest
                                   : Fold::kSum;
  fold_places("scatter", lists, map, Folding{fold, !a.include_self, dtype, dtype});
  if (a.reduce != "mean") return;
  int64_t tasks = lists.lines * lists.count;
  dispatch_elements(dtype, "scatter", [&]<class T>() {
    launch("scatter", divide_by_counts<T>, {blocks_for(tasks), kThreads}, lists, map, a.include_self ? 1 : 0,
           tasks);
  });
}

// The lines of the index, sorted; what names nothing comes last and is left out.
SortedRows<uint32_t> sort_lines(const Places& places) {
  const Dims& sizes = places.index.sizes;
  int64_t length = sizes[places.dim];
  SortedRows<uint32_t> sorted(numel(sizes) / length, length, "scatter");
  Dims key_strides = lines_of(sizes, places.dim);
  Operand keys{sorted.keys(), &sizes, &key_strides, DType::kInt32};
  auto walk = walk_of<2>(sizes, {&keys, &places.index.operand}, "scatter");
  launch("scatter", write_index_keys, {blocks_for(walk.steps), kThreads}, walk, places.rule);
  sorted.sort(std::bit_width(static_cast<uint64_t>(places.rule.size)));
  return sorted;
}

void scatter_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::ScatterAttrs>();
  const Operand &x = k.in(0), &index = k.in(1), &out = k.out();
  auto copy_input = [&] {
    if (out.data != x.data) copy_cast(out, x, "scatter");
  };
  if (index.count() == 0) return copy_input();
  Places places(index, out, a, "scatter");
  SortedRows<uint32_t> sorted = sort_lines(places);
  copy_input();
  Dims none;
  Operand src = k.in(2);
  DeviceScratch number(16);
  if (src.dtype != out.dtype) {  // a Python number
    Operand converted{number.as<void>(), &none, &none, out.dtype};
    copy_cast(converted, src, "scatter");
    src = converted;
  }
  Lifted written(out, *index.sizes), source(src, *index.sizes);
  LineMap map{make_rows<2>({&written.operand, &source.operand}, places.dim, "scatter"), places.step};
  auto lists = place_lists(sorted, static_cast<uint32_t>(places.rule.size));
  if (a.reduce != "set") return fold_lines(lists, map, out.dtype, a);
  dispatch_bytes(out.dtype, [&]<class T>() { write_last<T>("scatter", lists, map); });
}

}  // namespace

void kernels_gather(device::KernelTable& table) {
  table.add("gather", gather_elements);
  table.add("scatter_elements", scatter_kernel);
}

}  // namespace tw::cuda

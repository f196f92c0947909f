// index_gather, index_gather_backward, index_put.
//
// An indexed place is the sum of three offsets: of the dims taken whole before the indices (outer), of the
// indices together (at), of the dims after them (inner). A first kernel computes `at` of every place.
// Elements move in the widest units, of up to 16 bytes, in which runs of the inner dims lie densely. Floor:
// the elements moved, read and written once, over the bandwidth.
//
// Writing sorts the places, as many as the indices name, not the elements, and folds those that repeat in
// order (common/fold_places.h); places of a mask do not repeat. Indices that name nothing are an error,
// which the next to wait for the device is told; reading they give zeros, writing they change nothing. Masks
// are waited for, since they decide how many places there are.
//
// Per element: 8 bytes and 10 operations (rows of x, float32).
#include "ops/indexing/index.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "cuda/common/dense.h"
#include "cuda/common/fold_places.h"
#include "cuda/common/holding.h"
#include "cuda/common/mistakes.h"
#include "cuda/common/strided_dims.h"
#include "cuda/common/vector.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

constexpr int kThreads = block_threads(256);
constexpr int kMostIndices = 8;

unsigned blocks_for(int64_t tasks) { return static_cast<unsigned>((tasks + kThreads - 1) / kThreads); }

// One integer operand for each dim, masks taken apart.
class IntegerIndices {
 public:
  IntegerIndices(const Operand& x, std::span<const Operand> indices, const char* op) : op_(op) {
    for (const Operand& index : indices) {
      if (index.present() && (index.dtype == DType::kBool || index.dtype == DType::kUInt8))
        add_mask(index);
      else
        items.push_back(index);
    }
    auto given = std::count_if(items.begin(), items.end(), [](const Operand& i) { return i.present(); });
    distinct = masks_ == 1 && given == mask_dims_;
    std::vector<const Dims*> shapes;
    for (const Operand& item : items) shapes.push_back(item.present() ? item.sizes : nullptr);
    layout = ops::index_layout(*x.sizes, shapes, op);
  }

  std::vector<Operand> items;
  ops::IndexLayout layout;
  bool distinct;  // no place can repeat: one mask names them

 private:
  void add_mask(const Operand& mask) {
    Dense<bool> truth(mask, op_);
    Holding holding(reinterpret_cast<const uint8_t*>(truth.data()), mask.count(), op_);
    int64_t rank = mask.rank();
    auto& positions = memory_.emplace_back(static_cast<size_t>(holding.total() * rank) * sizeof(int64_t));
    holding.write(*mask.sizes, positions.as<int64_t>());
    const Dims& sizes = dims_.emplace_back(Dims{holding.total()});
    const Dims& strides = dims_.emplace_back(Dims{rank});
    for (int64_t d = 0; d < rank; d++)
      items.push_back({positions.as<int64_t>() + d, &sizes, &strides, DType::kInt64});
    masks_++;
    mask_dims_ += rank;
  }

  const char* op_;
  std::deque<DeviceScratch> memory_;
  std::deque<Dims> dims_;
  int64_t masks_ = 0, mask_dims_ = 0;
};

// The indices of all dims, row-major in their common shape, and what they index.
struct IndexSet {
  int count = 0;
  const int64_t* values[kMostIndices];
  int64_t dims[kMostIndices], sizes[kMostIndices], strides[kMostIndices];  // of what is indexed; bytes
};

constexpr int64_t kNowhere = std::numeric_limits<int64_t>::min();  // where a place lies that there is none of

// Where each place lies, and its number among all that the indices could name, `possible` for none of them.
__global__ void __launch_bounds__(kThreads)
    find_places_kernel(IndexSet set, int64_t places, int64_t* at, uint64_t* numbers, uint64_t possible,
                       MistakeNote wrong) {
  int64_t b = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (b >= places) return;
  int64_t offset = 0;
  uint64_t number = 0;
  bool there = true;
  for (int i = 0; i < set.count; i++) {
    int64_t value = set.values[i][b], size = set.sizes[i];
    if (value < -size || value >= size) {
      wrong(value, size_of_dim(size, set.dims[i]));
      there = false;
    }
    if (value < 0) value += size;
    offset += value * set.strides[i];
    number = number * static_cast<uint64_t>(size) + static_cast<uint64_t>(value);
  }
  at[b] = there ? offset : kNowhere;
  if (numbers) numbers[b] = there ? number : possible;
}

// Where the places of an operand lie.
struct PlaceMap {
  char* x;
  const char* values;  // [outer, places, inner]
  const int64_t* at;
  StridedDims outer, inner;
  int64_t places, unit;  // bytes moved at a time
  bool one_value;        // the same everywhere

  TW_DEVICE char* to(int64_t line, uint64_t, uint32_t place, int64_t column) const {
    return x + outer.offset(line) + at[place] + inner.offset(column);
  }
  TW_DEVICE const char* from(int64_t line, uint32_t place, int64_t column) const {
    return one_value ? values : values + ((line * places + place) * inner.count + column) * unit;
  }
};

// The places that indices name in x, on the device.
class Places {
 public:
  Places(const Operand& x, const IntegerIndices& indices, const char* op)
      : count(numel(indices.layout.broadcast)),
        op_(op),
        x_(x),
        layout_(indices.layout),
        at_(static_cast<size_t>(count) * sizeof(int64_t)) {
    for (size_t d = 0; d < indices.items.size(); d++) {
      if (!indices.items[d].present()) continue;
      TW_CHECK(set_.count < kMostIndices, kNotImplemented, op, ": more than ", kMostIndices,
               " indices are not supported on CUDA");
      auto dim = static_cast<int64_t>(d);
      set_.dims[set_.count] = dim;
      set_.sizes[set_.count] = x.size(dim);
      set_.strides[set_.count] = x.stride(dim) * size_of(x.dtype);
      set_.values[set_.count++] = add_index(indices.items[d]);
    }
  }
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  // Finds where they lie, and with `numbers` also which of all possible places they are.
  void find(uint64_t* numbers) {
    launch(op_, find_places_kernel, {blocks_for(count), kThreads}, set_, count, at_.as<int64_t>(), numbers,
           static_cast<uint64_t>(possible()), mistake_note(op_, index_out_of_bounds));
  }

  // How many there could be: the numbers of places are below it.
  int64_t possible() const {
    int64_t product = 1;
    for (int i = 0; i < set_.count; i++) product *= set_.sizes[i];
    return product;
  }

  // Elements move `widest` bytes at a time, or as many as their memory allows.
  PlaceMap map(const void* values, bool one_value, int widest) const {
    int64_t element = size_of(x_.dtype);
    auto gather = [&](const Dims& dims, Dims& sizes, Dims& strides) {
      for (int64_t d : dims) {
        sizes.push_back(x_.size(d));
        strides.push_back(x_.stride(d) * element);
      }
    };
    Dims outer_sizes, outer_strides, sizes, strides;
    gather(layout_.before, outer_sizes, outer_strides);
    gather(layout_.after, sizes, strides);
    // The innermost dims that lie densely become one run.
    int64_t run = element;
    while (!sizes.empty() && (sizes.back() == 1 || strides.back() == run)) {
      run *= sizes.back();
      sizes.pop_back();
      strides.pop_back();
    }
    int64_t unit = run == element || one_value ? element : std::gcd<int64_t>(run, widest);
    auto narrow = [&](int64_t by) { unit = std::gcd(unit, std::abs(by)); };
    narrow(static_cast<int64_t>(reinterpret_cast<uintptr_t>(x_.data) % 16));
    narrow(static_cast<int64_t>(reinterpret_cast<uintptr_t>(values) % 16));
    for (int64_t stride : outer_strides) narrow(stride);
    for (int64_t stride : strides) narrow(stride);
    for (int i = 0; i < set_.count; i++) narrow(set_.strides[i]);
    unit = std::max(unit, element);
    sizes.push_back(run / unit);
    strides.push_back(unit);
    return {x_.as<char>(),
            static_cast<const char*>(values),
            at_.as<const int64_t>(),
            strided_dims({outer_sizes.data(), outer_sizes.size()},
                         {outer_strides.data(), outer_strides.size()}, op_),
            strided_dims({sizes.data(), sizes.size()}, {strides.data(), strides.size()}, op_),
            count,
            unit,
            one_value};
  }

  int64_t count;

 private:
  const int64_t* add_index(const Operand& index) {
    // Seen with the common shape.
    const Dims& shape = layout_.broadcast;
    Dims strides(shape.size(), 0);
    size_t missing = shape.size() - index.sizes->size();
    for (size_t d = 0; d < index.sizes->size(); d++)
      if ((*index.sizes)[d] != 1) strides[missing + d] = (*index.strides)[d];
    return copies_.emplace_back(Operand{index.data, &shape, &strides, index.dtype}, op_).data();
  }

  const char* op_;
  const Operand& x_;
  const ops::IndexLayout& layout_;
  IndexSet set_;
  DeviceScratch at_;
  std::deque<Dense<int64_t>> copies_;
};

// A type of so many bytes, aligned to them.
template <class Body>
void dispatch_unit(int64_t unit, Body&& body) {
  switch (unit) {
    case 1:
      return body.template operator()<uint8_t>();
    case 2:
      return body.template operator()<uint16_t>();
    case 4:
      return body.template operator()<uint32_t>();
    case 8:
      return body.template operator()<uint64_t>();
    default:
      return body.template operator()<Pack<uint64_t, 2>>();
  }
}

// `out` is the dense memory that the map takes for values.
template <class Unit>
__global__ void __launch_bounds__(kThreads) gather_places_kernel(PlaceMap map, Unit* out, FoldTasks tasks) {
  FoldTask at(tasks);
  if (at.number >= tasks.count) return;
  auto place = static_cast<uint32_t>(at.piece);
  Unit value{};
  if (map.at[place] != kNowhere) value = *reinterpret_cast<const Unit*>(map.to(at.line, 0, place, at.column));
  out[at.number] = value;
}

void index_gather_kernel(KernelContext& k) {
  const Operand& x = k.list(0)[0];
  IntegerIndices indices(x, k.list(1), "index");
  Places places(x, indices, "index");
  if (places.count == 0) return;
  places.find(nullptr);
  if (k.out().count() == 0) return;
  PlaceMap map = places.map(k.out().data, false, kVectorBytes);
  FoldTasks tasks(map.outer.count, map.places, map.inner.count, "index");
  dispatch_unit(map.unit, [&]<class Unit>() {
    launch("index", gather_places_kernel<Unit>, tasks.grid(), map, k.out().as<Unit>(), tasks);
  });
}

// body(lists): the places sorted, the same for all lines.
template <class Body>
void with_sorted(Places& places, const PlaceMap& map, const char* op, const Body& body) {
  SortedRows<uint64_t> sorted(1, places.count, op);
  places.find(sorted.keys());
  sorted.sort(std::bit_width(static_cast<uint64_t>(places.possible())));
  auto lists = place_lists(sorted, static_cast<uint64_t>(places.possible()));
  lists.lines = map.outer.count;
  lists.columns = map.inner.count;
  lists.step = 0;
  body(lists);
}

// An operand broadcast to a shape, as row-major memory of a dtype.
class RowMajor {
 public:
  RowMajor(const Operand& x, DType dtype, const Dims& shape, const char* op) : data_(x.data) {
    if (x.dtype == dtype && *x.sizes == shape && x.contiguous()) return;
    Dims strides = contiguous_strides(shape);
    copy_.emplace(static_cast<size_t>(numel(shape) * size_of(dtype)));
    data_ = copy_->as<void>();
    copy_cast({copy_->as<void>(), &shape, &strides, dtype}, x, op);
  }
  const void* data() const { return data_; }

 private:
  const void* data_;
  std::optional<DeviceScratch> copy_;
};

void clear(const Operand& x, const char* op) {
  if (x.count())
    check(cudaMemsetAsync(x.data, 0, static_cast<size_t>(x.count() * size_of(x.dtype)), current_stream()),
          op);
}

// Sums of half types are kept in float until the end.
void index_gather_backward_kernel(KernelContext& k) {
  const Operand &grad = k.list(0)[0], &out = k.out();
  bool wide = is_half(out.dtype);
  DeviceScratch memory(wide ? static_cast<size_t>(out.count()) * sizeof(float) : 0);
  Operand sum = out;
  if (wide) sum = {memory.as<void>(), out.sizes, out.strides, DType::kFloat32};
  clear(sum, k.op);
  IntegerIndices indices(sum, k.list(1), "index");
  Places places(sum, indices, "index");
  if (places.count) {
    RowMajor source(grad, grad.dtype, *grad.sizes, "index");
    PlaceMap map = places.map(source.data(), false, static_cast<int>(size_of(sum.dtype)));
    map.unit = size_of(out.dtype);
    with_sorted(places, map, "index", [&](const auto& lists) {
      fold_places("index", lists, map, Folding{Fold::kSum, false, sum.dtype, out.dtype});
    });
  }
  if (wide) copy_cast(out, sum, k.op);
}

void index_put_kernel(KernelContext& k) {
  const Operand &input = k.list(0)[0], &values = k.list(2)[0], &out = k.out();
  IntegerIndices indices(input, k.list(1), k.op);
  const Dims& shape = indices.layout.sizes;
  TW_CHECK(broadcast_sizes(shape, *values.sizes, k.op) == shape, kRuntime, k.op, ": values of shape ",
           *values.sizes, " do not broadcast to the indexed shape ", shape);
  bool one_value = values.count() == 1;
  RowMajor source(values, out.dtype, one_value ? *values.sizes : shape, k.op);
  Places places(out, indices, k.op);
  auto copy_input = [&] {
    if (out.data != input.data) copy_cast(out, input, k.op);
  };
  if (places.count == 0) return copy_input();
  if (k.attrs<ops::IndexPutAttrs>().accumulate) {
    PlaceMap map = places.map(source.data(), one_value, static_cast<int>(size_of(out.dtype)));
    return with_sorted(places, map, k.op, [&](const auto& lists) {
      copy_input();
      fold_places(k.op, lists, map, Folding{Fold::kSum, false, out.dtype, out.dtype});
    });
  }
  PlaceMap map = places.map(source.data(), one_value, kVectorBytes);
  auto write = [&](const auto& lists) {
    copy_input();
    dispatch_unit(map.unit, [&]<class Unit>() { write_last<Unit>(k.op, lists, map); });
  };
  if (!indices.distinct) return with_sorted(places, map, k.op, write);
  places.find(nullptr);
  write(PlaceLists<uint64_t>{nullptr, nullptr, map.outer.count, places.count, map.inner.count, 0, 0});
}

}  // namespace

void kernels_index(device::KernelTable& table) {
  table.add("index_gather", index_gather_kernel);
  table.add("index_gather_backward", index_gather_backward_kernel);
  table.add("index_put", index_put_kernel);
}

}  // namespace tw::cuda

// Work is cut by lines: one position of every dim but `dim`. Two lines never meet in the tensor that is
// written, so the result has one order whatever the number of threads. Floor: index and elements read once,
// the result written.
#include <cstring>
#include <limits>
#include <vector>

#include "device/cpu/cast.h"
#include "device/cpu/parallel.h"
#include "ops/indexing/gather.h"
#include "ops/indexing/gather_formula.h"

namespace tw::ops {

using namespace device;

namespace {

constexpr int64_t kGrain = 16384;  // elements worth a thread
constexpr int64_t kColumns = 64;   // lines taken side by side where dim is not the innermost

// Index, the indexed tensor and the one that lies like the index (source or result), with their strides.
struct Lines {
  const Operand *index, *indexed, *other;
  int64_t dim, length, size;  // length of the index's lines, size of the indexed tensor along dim
  int64_t first, whole;       // the indexed tensor is what begins there in one of size `whole`
  int64_t columns = 1, column_dim = -1;

  template <class A>
  Lines(const Operand& index_, const Operand& indexed_, const Operand& other_, const A& a, const char* op)
      : index(&index_), indexed(&indexed_), other(&other_), dim(wrap_dim(a.dim, indexed_.rank(), op)) {
    length = index->rank() ? index->size(dim) : 1;
    size = indexed->rank() ? indexed->size(dim) : 1;
    first = a.first;
    whole = a.whole < 0 ? size : a.whole;
    for (int64_t d = index->rank() - 1; d >= 0 && column_dim < 0; d--)
      if (d != dim) column_dim = d;
    if (column_dim >= 0) columns = index->size(column_dim);
  }
  static int64_t stride(const Operand& x, int64_t d) { return d >= 0 && d < x.rank() ? x.stride(d) : 0; }
};

struct Offsets {
  int64_t index = 0, indexed = 0, other = 0;
};

// body(offsets of the first line, lines side by side).
template <class Body>
void for_lines(const Lines& l, Body body) {
  int64_t count = l.index->count();
  if (count == 0) return;
  int64_t rows = count / l.length / l.columns, chunks = (l.columns + kColumns - 1) / kColumns;
  int64_t grain = std::max<int64_t>(1, kGrain / (l.length * std::min(l.columns, kColumns)));
  parallel_for(0, rows * chunks, grain, [&](int64_t first, int64_t last) {
    for (int64_t unit = first; unit < last; unit++) {
      Offsets at;
      auto step = [&](int64_t d, int64_t by) {
        at.index += by * Lines::stride(*l.index, d);
        at.indexed += by * Lines::stride(*l.indexed, d);
        at.other += by * Lines::stride(*l.other, d);
      };
      int64_t rest = unit / chunks, column = unit % chunks * kColumns;
      for (int64_t d = l.index->rank() - 1; d >= 0; d--) {
        if (d == l.dim || d == l.column_dim) continue;
        step(d, rest % l.index->size(d));
        rest /= l.index->size(d);
      }
      step(l.column_dim, column);
      body(at, std::min(kColumns, l.columns - column));
    }
  });
}

// Of an index that names no place of this part.
__attribute__((noinline)) void check_elsewhere(const char* op, int64_t value, const Lines& l) {
  TW_CHECK(value >= 0 && value < l.whole, kIndex, op, ": index ", value, " is out of bounds for dim ", l.dim,
           " of size ", l.whole);
}

// visit(position in the indexed tensor, position in the other) for the elements of some lines; those of one
// line come in order. The denser of line and dim is walked innermost.
template <class Index, class Visit>
TW_INLINE void visit_lines(const Lines& l, const Offsets& at, int64_t lines, const char* op, Visit visit) {
  const Index* index = l.index->as<Index>() + at.index;
  struct Steps {
    int64_t count, index, indexed, other;
  };
  auto steps = [&](int64_t d, int64_t count) {
    return Steps{count, Lines::stride(*l.index, d), Lines::stride(*l.indexed, d), Lines::stride(*l.other, d)};
  };
  Steps along = steps(l.dim, l.length), across = steps(l.column_dim, lines);
  int64_t x_step = along.indexed;
  along.indexed = 0;
  if (across.index > along.index) std::swap(along, across);
  const uint64_t size = static_cast<uint64_t>(l.size);
  const int64_t first = l.first;
  for (int64_t i = 0; i < along.count; i++) {
    const Index* row = index + i * along.index;
    int64_t indexed = at.indexed + i * along.indexed, other = at.other + i * along.other;
    for (int64_t j = 0; j < across.count; j++) {
      int64_t value = row[j * across.index] - first;
      if (static_cast<uint64_t>(value) >= size) [[unlikely]] {
        check_elsewhere(op, value + first, l);
        continue;
      }
      visit(indexed + j * across.indexed + value * x_step, other + j * across.other);
    }
  }
}

template <class Visit>
void visit_all(const Lines& lines, const char* op, Visit visit) {
  for_lines(lines, [&](const Offsets& at, int64_t count) {
    if (lines.index->dtype == DType::kInt64)
      visit_lines<int64_t>(lines, at, count, op, visit);
    else
      visit_lines<int32_t>(lines, at, count, op, visit);
  });
}

void gather_kernel(KernelContext& k) {
  const Operand &x = k.in(0), &index = k.in(1);
  const auto& a = k.attrs<GatherAttrs>();
  Lines lines(index, x, k.out(), a, k.op);
  if (a.whole >= 0) std::memset(k.out().data, 0, k.out().count() * size_of(k.out().dtype));
  dispatch_bytes(x.dtype, [&]<class T>() {
    const T* from = x.as<const T>();
    T* to = k.out().as<T>();
    visit_all(lines, k.op, [=](int64_t at, int64_t other) { to[other] = from[at]; });
  });
}

template <class T>
compute_t<T> lowest() {
  using C = compute_t<T>;
  if constexpr (std::numeric_limits<C>::has_infinity)
    return -std::numeric_limits<C>::infinity();
  else
    return std::numeric_limits<C>::lowest();
}
template <class T>
compute_t<T> highest() {
  using C = compute_t<T>;
  if constexpr (std::numeric_limits<C>::has_infinity)
    return std::numeric_limits<C>::infinity();
  else
    return std::numeric_limits<C>::max();
}

// Divides sums by how many went into each; whole numbers round down.
template <class T>
void divide_by_counts(const Lines& lines, stored_t<T>* out, const ScatterAttrs& a, const char* op) {
  Dims sizes = *lines.indexed->sizes, strides = contiguous_strides(sizes);
  std::vector<int64_t> counts(numel(sizes), a.include_self ? 1 : 0);
  Operand dense{counts.data(), &sizes, &strides, DType::kInt64};
  visit_all(Lines(*lines.index, dense, *lines.other, a, op), op, [&](int64_t at, int64_t) { counts[at]++; });
  Dims at(sizes.size(), 0);
  int64_t offset = 0;
  for (int64_t count : counts) {
    if (count > 1) {
      if constexpr (std::is_integral_v<T>) {
        out[offset] = store<T>(mean_of_integers(out[offset], count));
      } else {
        out[offset] = store<T>(load<T>(out[offset]) / static_cast<compute_t<T>>(static_cast<double>(count)));
      }
    }
    for (int64_t d = static_cast<int64_t>(sizes.size()) - 1; d >= 0; d--) {
      offset += lines.indexed->stride(d);
      if (++at[d] < sizes[d]) break;
      offset -= lines.indexed->stride(d) * sizes[d];
      at[d] = 0;
    }
  }
}

template <class T>
void reduce_into(const Lines& lines, const ScatterAttrs& a, const char* op) {
  using C = compute_t<T>;
  auto* out = lines.indexed->as<stored_t<T>>();
  auto* src = lines.other->as<const stored_t<T>>();
  auto start = [&](C identity) {
    if (!a.include_self) visit_all(lines, op, [=](int64_t at, int64_t) { out[at] = store<T>(identity); });
  };
  auto reduce = [&](auto combine) {
    visit_all(lines, op, [=](int64_t at, int64_t other) {
      out[at] = store<T>(combine(load<T>(out[at]), load<T>(src[other])));
    });
  };
  if (a.reduce == "prod") {
    start(C(1));
    return reduce([](C x, C y) { return x * y; });
  }
  if (a.reduce == "sum" || a.reduce == "mean") {
    start(C(0));
    reduce([](C x, C y) { return x + y; });
    if (a.reduce == "mean") divide_by_counts<T>(lines, out, a, op);
    return;
  }
  if constexpr (!is_complex_type<T>) {
    bool max = a.reduce == "amax";
    start(max ? lowest<T>() : highest<T>());
    if (max) return reduce([](C x, C y) { return larger_of(x, y); });
    return reduce([](C x, C y) { return smaller_of(x, y); });
  }
}

void scatter_kernel(KernelContext& k) {
  const auto& a = k.attrs<ScatterAttrs>();
  const Operand &x = k.in(0), &index = k.in(1), &out = k.out();
  if (out.data != x.data) copy_cast(out, x);
  alignas(16) char number[16];
  Dims none;
  Operand src = k.in(2);
  if (src.dtype != out.dtype) {  // a Python number
    Operand converted{number, &none, &none, out.dtype};
    copy_cast(converted, src);
    src = converted;
  }
  Lines lines(index, out, src, a, "scatter");
  if (a.reduce != "set")
    return dispatch_all(out.dtype, "scatter", [&]<class T>() { reduce_into<T>(lines, a, "scatter"); });
  dispatch_bytes(out.dtype, [&]<class T>() {
    T* to = out.as<T>();
    const T* from = src.as<const T>();
    visit_all(lines, "scatter", [=](int64_t at, int64_t other) { to[at] = from[other]; });
  });
}

}  // namespace

void kernels_gather(KernelTable& table) {
  table.add("gather", gather_kernel);
  table.add("scatter_elements", scatter_kernel);
}

}  // namespace tw::ops

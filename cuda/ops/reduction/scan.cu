// cumsum, cumprod, cummax, cummin, logcumsumexp, recurrence, prod_dim.
//
// A scan reads each element once and writes it once: kItems neighbours a thread, then the threads of a warp
// by shuffles and those of a block through shared memory. A block has a long row, a warp a short one, a
// thread a very short one or one whose elements lie far apart while rows are neighbours in memory. Floats are
// carried in double, as on the CPU. A kernel serves all dtypes that one type carries. Floor: the operands'
// bytes over the bandwidth.
//
// prod_dim reads the input once; one product an element, halves in float, integers in int64 and around.
// Floor: the input's bytes over the bandwidth.
//
// Per element: 8 bytes and 20 operations (cumsum, float32).
#include "ops/reduction/scan.h"

#include "cuda/common/any_dtype.h"
#include "cuda/common/complex_warp.h"
#include "cuda/common/group_scan.h"
#include "cuda/common/reduce.h"
#include "cuda/common/rows.h"
#include "ops/reduction/reduction.h"
#include "ops/reduction/scan_formula.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

template <class Acc>
struct Product {
  TW_DEVICE static Acc one() {
    if constexpr (is_device_complex<Acc>)
      return {1, 0};
    else
      return 1;
  }
  TW_DEVICE Acc none() const { return one(); }
  template <class C>
  TW_DEVICE Acc map(C x) const {
    return static_cast<Acc>(x);
  }
  TW_DEVICE Acc combine(Acc a, Acc b) const {
    if constexpr (std::is_same_v<Acc, int64_t>)
      return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else
      return a * b;
  }
  TW_DEVICE Acc finish(Acc total) const { return total; }
};

void prod_dim_kernel(KernelContext& k) {
  int64_t rank = k.in(0).rank();
  Dims dims = wrap_dims(IntList{k.attrs<ops::DimKeepDTypeAttrs>().dim}, rank, k.op);
  uint64_t mask = rank == 0 ? 0 : mask_of(dims, rank);
  dispatch_elements(k.in(0).dtype, k.op, [&]<class T>() {
    using Acc = sum_t<T>;
    reduce<T, Acc>(k.in(0), k.out(), mask, k.op, Product<Acc>());
  });
}

constexpr int kItems = 4;
constexpr int64_t kThreadRow = 16;  // elements that a thread scans alone

// The elements of a row that a thread has at a time.
struct Items {
  int64_t first, length;
  bool from_end;

  TW_DEVICE bool there(int j) const { return first + j < length; }
  TW_DEVICE int64_t place(int j) const { return from_end ? length - 1 - first - j : first + j; }
};

// Those of an operand, of any dtype that fits V.
template <class V>
TW_DEVICE void read_items(const char* row, int64_t step, DType dtype, const Items& items,
                          V (&values)[kItems]) {
  fitting_t<V>::visit(dtype, [&]<class T>() {
    TW_UNROLL
    for (int j = 0; j < kItems; j++)
      if (items.there(j)) values[j] = widened<V>(value_at<T>(row, step, items.place(j)));
  });
}
template <class V>
TW_DEVICE void write_items(char* row, int64_t step, DType dtype, const Items& items,
                           const V (&values)[kItems]) {
  fitting_t<V>::visit(dtype, [&]<class T>() {
    TW_UNROLL
    for (int j = 0; j < kItems; j++)
      if (items.there(j)) put_at<T>(row, step, items.place(j), widened<compute_t<T>>(values[j]));
  });
}

// A scan F says what it reads, how two stretches join, and what it writes:
//   Carry none() const; Carry join(a, b) const;
//   void read(rows, steps, items, Carry*) const; void write(rows, steps, items, const Carry*) const.
template <class F, int kOperands, int kGroup>
__global__ void __launch_bounds__(kReduceThreads) scan_kernel(Rows<kOperands> rows, F f, bool from_end) {
  using Carry = typename F::Carry;
  int64_t row = row_of_thread<kGroup>(), length = row < rows.count ? rows.length : 0;
  char* at[kOperands];
  rows.at(row < rows.count ? row : 0, at);
  auto join = [&f](Carry a, Carry b) { return f.join(a, b); };
  Carry before = f.none();
  for (int64_t base = 0; base < length; base += kGroup * kItems) {
    Items which{base + thread_of_row<kGroup>() * kItems, length, from_end};
    Carry items[kItems], own = f.none();
    f.read(at, rows.steps, which, items);
    TW_UNROLL
    for (int j = 0; j < kItems; j++) {
      if (which.there(j)) own = f.join(own, items[j]);
      items[j] = own;
    }
    auto scanned = group_scan<kGroup>(own, f.none(), join);
    Carry earlier = f.join(before, scanned.before);
    TW_UNROLL
    for (int j = 0; j < kItems; j++) items[j] = f.join(earlier, items[j]);
    f.write(at, rows.steps, which, items);
    before = f.join(before, scanned.all);
  }
}

template <class F, size_t kOperands>
void scan(KernelContext& k, const Operand* const (&operands)[kOperands], int64_t given_dim, bool from_end,
          const F& f) {
  if (k.out().count() == 0) return;
  constexpr int kCount = static_cast<int>(kOperands);
  std::array<const Operand*, kOperands> list;
  std::copy_n(operands, kOperands, list.begin());
  int64_t dim = wrap_dim(given_dim, k.in(0).rank(), k.op);
  auto rows = make_rows<kOperands>(list, dim, k.op);
  const Operand& in = *list.back();
  bool beside =
      in.rank() > 1 && std::abs(rows.steps[kOperands - 1]) > size_of(in.dtype) &&
      std::any_of(in.strides->begin(), in.strides->end(), [](int64_t stride) { return stride == 1; });
  if (rows.length <= kThreadRow || (beside && rows.length <= kWarpRow)) {
    auto blocks = static_cast<unsigned>((rows.count + kReduceThreads - 1) / kReduceThreads);
    return launch(k.op, scan_kernel<F, kCount, 1>, {blocks, kReduceThreads}, rows, f, from_end);
  }
  launch_on_rows<kCount, F, bool>(k.op, rows, scan_kernel<F, kCount, kLanes>,
                                  scan_kernel<F, kCount, kReduceThreads>, f, from_end);
}

// Operands: result, input.
template <class C, bool kProduct>
struct Running {
  using Carry = C;
  DType out, in;
  TW_DEVICE Carry none() const {
    if constexpr (requires(Carry c) { c.im; })
      return Carry{kProduct ? 1.0 : 0.0, 0.0};
    else
      return Carry(kProduct);
  }
  TW_DEVICE void read(char* const* at, const int64_t* steps, const Items& items, Carry (&to)[kItems]) const {
    read_items(at[1], steps[1], in, items, to);
  }
  TW_DEVICE Carry join(Carry a, Carry b) const {
    if constexpr (kProduct)
      return static_cast<Carry>(a * b);
    else
      return static_cast<Carry>(a + b);
  }
  TW_DEVICE void write(char* const* at, const int64_t* steps, const Items& items,
                       const Carry (&totals)[kItems]) const {
    write_items(at[0], steps[0], out, items, totals);
  }
};

template <bool kProduct>
void running(KernelContext& k, int64_t dim, bool from_end) {
  DType in = k.in(0).dtype, out = k.out().dtype;
  TW_ASSERT(in == out || (out == DType::kInt64 && !is_float(in) && !is_complex(in)), ==, true);
  auto with = [&]<class C>() { scan(k, {&k.out(), &k.in(0)}, dim, from_end, Running<C, kProduct>{out, in}); };
  if (is_complex(in))
    with.template operator()<Complex<double>>();
  else if (is_float(in))
    with.template operator()<double>();
  else
    with.template operator()<int64_t>();
}

void cumsum_kernel(KernelContext& k) { running<false>(k, k.attrs<ops::DimDTypeAttrs>().dim, false); }
void cumsum_from_end_kernel(KernelContext& k) { running<false>(k, k.attrs<ops::RowDimAttrs>().dim, true); }
void cumprod_kernel(KernelContext& k) { running<true>(k, k.attrs<ops::DimDTypeAttrs>().dim, false); }

// Halves and float32 in float, as in double a logarithm would take longer than the memory.
template <class Body>
void with_float_or_double(DType dtype, const Body& body) {
  if (dtype == DType::kFloat64)
    body.template operator()<double>();
  else
    body.template operator()<float>();
}

template <class C>
struct LogSums {
  using Carry = C;
  static constexpr Carry kInf = std::numeric_limits<Carry>::infinity();
  DType dtype;
  TW_DEVICE Carry none() const { return -kInf; }
  TW_DEVICE void read(char* const* at, const int64_t* steps, const Items& items, Carry (&to)[kItems]) const {
    read_items(at[1], steps[1], dtype, items, to);
  }
  TW_DEVICE Carry join(Carry a, Carry b) const { return ops::log_of_sum(a, b); }
  TW_DEVICE void write(char* const* at, const int64_t* steps, const Items& items,
                       const Carry (&totals)[kItems]) const {
    write_items(at[0], steps[0], dtype, items, totals);
  }
};

void logcumsumexp_kernel(KernelContext& k) {
  int64_t dim = k.attrs<ops::RowDimAttrs>().dim;
  DType dtype = k.in(0).dtype;
  with_float_or_double(dtype,
                       [&]<class C>() { scan(k, {&k.out(), &k.in(0)}, dim, false, LogSums<C>{dtype}); });
}

// The best element of a stretch and where it stands; place -1: of an empty one.
template <class V>
struct Place {
  V value;
  int64_t place;
};
template <class V>
TW_DEVICE Place<V> shuffle_up(Place<V> x, int by) {
  return {cuda::shuffle_up(x.value, by), cuda::shuffle_up(x.place, by)};
}
template <class V>
TW_DEVICE Place<V> shuffle_from(Place<V> x, int lane) {
  return {cuda::shuffle_from(x.value, lane), cuda::shuffle_from(x.place, lane)};
}

// Operands: values, indices, input.
template <class V>
struct Extremes {
  using Carry = Place<V>;
  DType dtype;
  bool largest;
  TW_DEVICE Carry none() const { return {V(0), -1}; }
  TW_DEVICE void read(char* const* at, const int64_t* steps, const Items& items, Carry (&to)[kItems]) const {
    V values[kItems];
    read_items(at[2], steps[2], dtype, items, values);
    TW_UNROLL
    for (int j = 0; j < kItems; j++)
      if (items.there(j)) to[j] = {values[j], items.place(j)};
  }
  // The last of equals; NaN for good.
  TW_DEVICE Carry join(Carry a, Carry b) const {
    if (a.place < 0 || b.place < 0) return a.place < 0 ? b : a;
    bool later = largest ? ops::takes_over<true>(b.value, a.value) : ops::takes_over<false>(b.value, a.value);
    return later ? b : a;
  }
  TW_DEVICE void write(char* const* at, const int64_t* steps, const Items& items,
                       const Carry (&best)[kItems]) const {
    V values[kItems];
    TW_UNROLL
    for (int j = 0; j < kItems; j++) {
      values[j] = best[j].value;
      if (items.there(j)) put_at<int64_t>(at[1], steps[1], items.place(j), best[j].place);
    }
    write_items(at[0], steps[0], dtype, items, values);
  }
};

template <bool kLargest>
void cumulative_extremum_kernel(KernelContext& k) {
  int64_t dim = k.attrs<ops::RowDimAttrs>().dim;
  DType dtype = k.in(0).dtype;
  auto with = [&]<class V>() {
    scan(k, {&k.out(0), &k.out(1), &k.in(0)}, dim, false, Extremes<V>{dtype, kLargest});
  };
  TW_CHECK(!is_complex(dtype), kNotImplemented, k.op, ": dtype ", dtype, " is not supported");
  if (is_float(dtype))
    with_float_or_double(dtype, with);
  else
    with.template operator()<int64_t>();
}

// A stretch of a recurrence turns what comes before it, y, into term + factor y.
template <class C>
struct Stretch {
  C factor, term;
};
template <class C>
TW_DEVICE Stretch<C> shuffle_up(Stretch<C> x, int by) {
  return {cuda::shuffle_up(x.factor, by), cuda::shuffle_up(x.term, by)};
}
template <class C>
TW_DEVICE Stretch<C> shuffle_from(Stretch<C> x, int lane) {
  return {cuda::shuffle_from(x.factor, lane), cuda::shuffle_from(x.term, lane)};
}

// Operands: result, factor, term. Where products of factors overflow but the chain would not, since it is 0,
// the result is NaN.
struct Recurrence {
  using Carry = Stretch<double>;
  DType dtype;
  TW_DEVICE Carry none() const { return {1, 0}; }
  // Nothing comes before the first, whose factor may be anything.
  TW_DEVICE void read(char* const* at, const int64_t* steps, const Items& items, Carry (&to)[kItems]) const {
    double factors[kItems], terms[kItems];
    read_items(at[1], steps[1], dtype, items, factors);
    read_items(at[2], steps[2], dtype, items, terms);
    TW_UNROLL
    for (int j = 0; j < kItems; j++)
      if (items.there(j)) to[j] = {items.first + j == 0 ? 0.0 : factors[j], terms[j]};
  }
  TW_DEVICE Carry join(Carry a, Carry b) const { return {a.factor * b.factor, b.term + b.factor * a.term}; }
  TW_DEVICE void write(char* const* at, const int64_t* steps, const Items& items,
                       const Carry (&wholes)[kItems]) const {
    double values[kItems];
    TW_UNROLL
    for (int j = 0; j < kItems; j++) values[j] = wholes[j].term;
    write_items(at[0], steps[0], dtype, items, values);
  }
};

void recurrence_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::RecurrenceAttrs>();
  DType dtype = k.out().dtype;
  TW_CHECK(is_float(dtype), kNotImplemented, k.op, ": dtype ", dtype, " is not supported");
  scan(k, {&k.out(), &k.in(0), &k.in(1)}, a.dim, a.from_end, Recurrence{dtype});
}

}  // namespace

void kernels_scan(device::KernelTable& table) {
  table.add("cumsum", cumsum_kernel);
  table.add("cumsum_from_end", cumsum_from_end_kernel);
  table.add("cumprod", cumprod_kernel);
  table.add("logcumsumexp", logcumsumexp_kernel);
  table.add("cummax", cumulative_extremum_kernel<true>);
  table.add("cummin", cumulative_extremum_kernel<false>);
  table.add("recurrence", recurrence_kernel);
  table.add("prod_dim", prod_dim_kernel);
}

}  // namespace tw::cuda

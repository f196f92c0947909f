// cumsum, cumprod, cummax, cummin, logcumsumexp, recurrence, prod_dim.
//
// A scan reads each element once and writes it once: kItems neighbours a thread, then the threads of a warp
// by shuffles and those of a block through shared memory. A block has a long row, a warp a short one, a
// thread a very short one or one whose elements lie far apart while rows are neighbours in memory. Floats are
// carried in double, as on the CPU. Floor: the operands' bytes over the bandwidth.
//
// prod_dim reads the input once; one product an element, halves in float, integers in int64 and around.
// Floor: the input's bytes over the bandwidth.
#include "ops/reduction/scan.h"

#include "cuda/common/complex.h"
#include "cuda/common/group_scan.h"
#include "cuda/common/reduce.h"
#include "cuda/common/rows.h"
#include "ops/reduction/reduction.h"
#include "ops/reduction/scan_formula.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

template <class R>
TW_DEVICE Complex<R> shuffle_up(Complex<R> z, int by) {
  return {shuffle_up(z.re, by), shuffle_up(z.im, by)};
}
template <class R>
TW_DEVICE Complex<R> shuffle_from(Complex<R> z, int lane) {
  return {shuffle_from(z.re, lane), shuffle_from(z.im, lane)};
}

namespace {

template <class Acc>
struct Product {
  TW_DEVICE Acc none() const { return Acc(1); }
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

template <class In, class Out>
void product(KernelContext& k, uint64_t mask) {
  using Acc = sum_t<Out>;
  reduce<In, Acc, Out>(k.in(0), k.out(), mask, k.op, Product<Acc>());
}

void prod_dim_kernel(KernelContext& k) {
  int64_t rank = k.in(0).rank();
  Dims dims = wrap_dims(IntList{k.attrs<ops::DimKeepDTypeAttrs>().dim}, rank, k.op);
  uint64_t mask = rank == 0 ? 0 : mask_of(dims, rank);
  DType in = k.in(0).dtype;
  if (in == k.out().dtype) return dispatch_real(in, k.op, [&]<class T>() { product<T, T>(k, mask); });
  dispatch_int_bool(in, k.op, [&]<class T>() { product<T, int64_t>(k, mask); });
}

struct ComplexChain {
  using type = Complex<double>;
};
template <class T>
using chain_t =
    typename std::conditional_t<std::is_arithmetic_v<compute_t<T>>, ops::Chain<T>, ComplexChain>::type;

template <class Carry, class C>
TW_DEVICE Carry carried(C x) {
  if constexpr (requires { x.im; })
    return Carry{static_cast<decltype(Carry::re)>(x.re), static_cast<decltype(Carry::im)>(x.im)};
  else
    return static_cast<Carry>(x);
}
template <class Out, class Carry>
TW_DEVICE stored_t<Out> uncarried(Carry x) {
  if constexpr (requires { x.im; })
    return carried<Out>(x);
  else
    return store<Out>(static_cast<sum_t<Out>>(x));
}

constexpr int kItems = 4;
constexpr int64_t kThreadRow = 16;  // elements that a thread scans alone

// A scan F says what it reads at a place, how two stretches join, and what it writes:
//   Carry none() const; Carry read(rows, steps, i) const; Carry join(a, b) const; void write(..., Carry).
template <class F, int kOperands, int kGroup>
__global__ void __launch_bounds__(kReduceThreads) scan_kernel(Rows<kOperands> rows, F f, bool from_end) {
  using Carry = typename F::Carry;
  int64_t row = row_of_thread<kGroup>(), length = row < rows.count ? rows.length : 0;
  char* at[kOperands];
  rows.at(row < rows.count ? row : 0, at);
  auto join = [&f](Carry a, Carry b) { return f.join(a, b); };
  Carry before = f.none();
  for (int64_t base = 0; base < length; base += kGroup * kItems) {
    int64_t first = base + thread_of_row<kGroup>() * kItems;
    Carry items[kItems], own = f.none();
    TW_UNROLL
    for (int j = 0; j < kItems; j++) {
      int64_t i = first + j;
      if (i < length) own = f.join(own, f.read(at, rows.steps, from_end ? length - 1 - i : i, i == 0));
      items[j] = own;
    }
    auto scanned = group_scan<kGroup>(own, f.none(), join);
    Carry earlier = f.join(before, scanned.before);
    TW_UNROLL
    for (int j = 0; j < kItems; j++) {
      int64_t i = first + j;
      if (i < length) f.write(at, rows.steps, from_end ? length - 1 - i : i, f.join(earlier, items[j]));
    }
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
template <class In, class Out, class C, bool kProduct>
struct Running {
  using Carry = C;
  TW_DEVICE Carry none() const {
    if constexpr (requires(Carry c) { c.im; })
      return Carry{kProduct ? 1.0 : 0.0, 0.0};
    else
      return Carry(kProduct);
  }
  TW_DEVICE Carry read(char* const* at, const int64_t* steps, int64_t i, bool) const {
    return carried<Carry>(value_at<In>(at[1], steps[1], i));
  }
  TW_DEVICE Carry join(Carry a, Carry b) const {
    if constexpr (kProduct)
      return static_cast<Carry>(a * b);
    else
      return static_cast<Carry>(a + b);
  }
  TW_DEVICE void write(char* const* at, const int64_t* steps, int64_t i, Carry total) const {
    *reinterpret_cast<stored_t<Out>*>(at[0] + i * steps[0]) = uncarried<Out>(total);
  }
};

template <bool kProduct>
void running(KernelContext& k, int64_t dim, bool from_end) {
  DType in = k.in(0).dtype;
  if (in == k.out().dtype) {
    dispatch_elements(in, k.op, [&]<class T>() {
      scan(k, {&k.out(), &k.in(0)}, dim, from_end, Running<T, T, chain_t<T>, kProduct>());
    });
  } else {
    TW_ASSERT(k.out().dtype == DType::kInt64, ==, true);
    dispatch_int_bool(in, k.op, [&]<class T>() {
      scan(k, {&k.out(), &k.in(0)}, dim, from_end, Running<T, int64_t, int64_t, kProduct>());
    });
  }
}

void cumsum_kernel(KernelContext& k) { running<false>(k, k.attrs<ops::DimDTypeAttrs>().dim, false); }
void cumsum_from_end_kernel(KernelContext& k) { running<false>(k, k.attrs<ops::RowDimAttrs>().dim, true); }
void cumprod_kernel(KernelContext& k) { running<true>(k, k.attrs<ops::DimDTypeAttrs>().dim, false); }

template <class T>
struct LogSums {
  using Carry = compute_t<T>;
  static constexpr Carry kInf = std::numeric_limits<Carry>::infinity();
  TW_DEVICE Carry none() const { return -kInf; }
  TW_DEVICE Carry read(char* const* at, const int64_t* steps, int64_t i, bool) const {
    return value_at<T>(at[1], steps[1], i);
  }
  TW_DEVICE Carry join(Carry a, Carry b) const { return ops::log_of_sum(a, b); }
  TW_DEVICE void write(char* const* at, const int64_t* steps, int64_t i, Carry total) const {
    put_at<T>(at[0], steps[0], i, total);
  }
};

void logcumsumexp_kernel(KernelContext& k) {
  int64_t dim = k.attrs<ops::RowDimAttrs>().dim;
  dispatch_float(k.in(0).dtype, k.op,
                 [&]<class T>() { scan(k, {&k.out(), &k.in(0)}, dim, false, LogSums<T>()); });
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
template <class T, bool kLargest>
struct Extremes {
  // A bool as an int, which a shuffle takes.
  using V = std::conditional_t<std::is_same_v<T, bool>, int32_t, compute_t<T>>;
  using Carry = Place<V>;
  TW_DEVICE Carry none() const { return {V(0), -1}; }
  TW_DEVICE Carry read(char* const* at, const int64_t* steps, int64_t i, bool) const {
    return {static_cast<V>(value_at<T>(at[2], steps[2], i)), i};
  }
  // The last of equals; NaN for good.
  TW_DEVICE Carry join(Carry a, Carry b) const {
    if (a.place < 0 || b.place < 0) return a.place < 0 ? b : a;
    return ops::takes_over<kLargest>(b.value, a.value) ? b : a;
  }
  TW_DEVICE void write(char* const* at, const int64_t* steps, int64_t i, Carry best) const {
    put_at<T>(at[0], steps[0], i, best.value);
    *reinterpret_cast<int64_t*>(at[1] + i * steps[1]) = best.place;
  }
};

template <bool kLargest>
void cumulative_extremum_kernel(KernelContext& k) {
  int64_t dim = k.attrs<ops::RowDimAttrs>().dim;
  dispatch_real_bool(k.in(0).dtype, k.op, [&]<class T>() {
    scan(k, {&k.out(0), &k.out(1), &k.in(0)}, dim, false, Extremes<T, kLargest>());
  });
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
template <class T>
struct Recurrence {
  using C = chain_t<T>;
  using Carry = Stretch<C>;
  TW_DEVICE Carry none() const { return {carried<C>(compute_t<T>(1)), carried<C>(compute_t<T>(0))}; }
  // Nothing comes before the first, whose factor may be anything.
  TW_DEVICE Carry read(char* const* at, const int64_t* steps, int64_t i, bool first) const {
    C term = carried<C>(value_at<T>(at[2], steps[2], i));
    return {first ? carried<C>(compute_t<T>(0)) : carried<C>(value_at<T>(at[1], steps[1], i)), term};
  }
  TW_DEVICE Carry join(Carry a, Carry b) const { return {a.factor * b.factor, b.term + b.factor * a.term}; }
  TW_DEVICE void write(char* const* at, const int64_t* steps, int64_t i, Carry whole) const {
    *reinterpret_cast<stored_t<T>*>(at[0] + i * steps[0]) = uncarried<T>(whole.term);
  }
};

void recurrence_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::RecurrenceAttrs>();
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    scan(k, {&k.out(), &k.in(0), &k.in(1)}, a.dim, a.from_end, Recurrence<T>());
  });
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

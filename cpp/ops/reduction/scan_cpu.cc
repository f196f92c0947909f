// A row is one dependent chain, so rows run beside each other on threads, not lanes. Reads and writes each
// element once.
#include "ops/reduction/scan.h"

#include <cmath>
#include <complex>
#include <type_traits>

#include "device/cpu/reduce.h"
#include "device/cpu/rows.h"
#include "ops/complex_formula.h"
#include "ops/reduction/reduction.h"
#include "ops/reduction/scan_formula.h"

namespace tw::ops {

using namespace device;

template <>
struct Chain<std::complex<float>> {
  using type = std::complex<double>;
};

namespace {

int64_t row_length(const Operand& x, int64_t dim) { return x.rank() == 0 ? 1 : x.size(dim); }

// out[i] = step(out[i - 1], in[i]), from the end when `from_end`. In is Out or, where small integers sum,
// narrower.
template <class In, class Out, class Carry, class Step>
void scan(KernelContext& k, int64_t dim, bool from_end, Carry start, Step step) {
  if (k.out().count() == 0) return;
  int64_t n = row_length(k.in(0), dim);
  row_loop({&k.out()}, {&k.in(0)}, dim, [&](int64_t, char* const* data) {
    auto* out = reinterpret_cast<stored_t<Out>*>(data[0]);
    auto* in = reinterpret_cast<const stored_t<In>*>(data[1]);
    Carry total = start;
    for (int64_t j = 0; j < n; j++) {
      int64_t i = from_end ? n - 1 - j : j;
      total = step(total, static_cast<Carry>(load<In>(in[i])));
      out[i] = store<Out>(static_cast<sum_t<Out>>(total));
    }
  });
}

template <class Step>
void scan_any(KernelContext& k, int64_t dim, bool from_end, int start, Step step) {
  dim = wrap_dim(dim, k.in(0).rank(), k.op);
  DType in = k.in(0).dtype, out = k.out().dtype;
  if (in == out) {
    dispatch_all(in, k.op, [&]<class T>() { scan<T, T>(k, dim, from_end, chain_t<T>(start), step); });
  } else {
    TW_ASSERT(out == DType::kInt64, ==, true);
    dispatch_int_bool(in, k.op, [&]<class T>() { scan<T, int64_t>(k, dim, from_end, int64_t{start}, step); });
  }
}

void cumsum_kernel(KernelContext& k) {
  scan_any(k, k.attrs<DimDTypeAttrs>().dim, false, 0, [](auto a, auto b) { return a + b; });
}
void cumsum_from_end_kernel(KernelContext& k) {
  scan_any(k, k.attrs<RowDimAttrs>().dim, true, 0, [](auto a, auto b) { return a + b; });
}
void cumprod_kernel(KernelContext& k) {
  scan_any(k, k.attrs<DimDTypeAttrs>().dim, false, 1, [](auto a, auto b) { return a * b; });
}

template <class T>
void scan_real_logsums(KernelContext& k, int64_t dim) {
  using C = compute_t<T>;
  scan<T, T>(k, dim, false, -std::numeric_limits<C>::infinity(), [](C a, C b) { return log_of_sum(a, b); });
}

void logcumsumexp_kernel(KernelContext& k) {
  int64_t dim = wrap_dim(k.attrs<RowDimAttrs>().dim, k.in(0).rank(), k.op);
  dispatch_float_complex(k.in(0).dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    if constexpr (is_complex_type<T>)
      return scan<T, T>(k, dim, false, C(-std::numeric_limits<double>::infinity()),
                        [](C a, C b) { return complex_logaddexp(a, b); });
    else
      scan_real_logsums<T>(k, dim);
  });
}

template <bool kLargest>
void cumulative_extremum_kernel(KernelContext& k) {
  if (k.out(0).count() == 0) return;
  int64_t dim = wrap_dim(k.attrs<RowDimAttrs>().dim, k.in(0).rank(), k.op), n = row_length(k.in(0), dim);
  dispatch_real_bool(k.in(0).dtype, k.op, [&]<class T>() {
    row_loop({&k.out(0), &k.out(1)}, {&k.in(0)}, dim, [&](int64_t, char* const* data) {
      auto* values = reinterpret_cast<stored_t<T>*>(data[0]);
      auto* indices = reinterpret_cast<int64_t*>(data[1]);
      auto* in = reinterpret_cast<const stored_t<T>*>(data[2]);
      compute_t<T> best = load<T>(in[0]);
      int64_t at = 0;
      for (int64_t i = 0; i < n; i++) {
        compute_t<T> x = load<T>(in[i]);
        if (takes_over<kLargest>(x, best)) best = x, at = i;
        values[i] = store<T>(best);
        indices[i] = at;
      }
    });
  });
}

void recurrence_kernel(KernelContext& k) {
  if (k.out().count() == 0) return;
  const auto& a = k.attrs<RecurrenceAttrs>();
  int64_t dim = wrap_dim(a.dim, k.in(0).rank(), k.op), n = row_length(k.in(0), dim);
  dispatch_float_complex(k.out().dtype, k.op, [&]<class T>() {
    row_loop({&k.out()}, {&k.in(0), &k.in(1)}, dim, [&](int64_t, char* const* data) {
      auto* y = reinterpret_cast<T*>(data[0]);
      auto* factor = reinterpret_cast<const T*>(data[1]);
      auto* term = reinterpret_cast<const T*>(data[2]);
      chain_t<T> last(0);
      for (int64_t j = 0; j < n; j++) {
        int64_t i = a.from_end ? n - 1 - j : j;
        chain_t<T> f(load<T>(factor[i])), t(load<T>(term[i]));
        last = j == 0 ? t : t + f * last;
        y[i] = store<T>(static_cast<compute_t<T>>(last));
      }
    });
  });
}

template <class In, class Out>
void prod(KernelContext& k, uint64_t mask) {
  using Acc = sum_t<Out>;
  reduce_loop<In, Acc, Out>(k.in(0), k.out(), mask, Acc(1), [](Acc a, Acc b) { return a * b; });
}

void prod_dim_kernel(KernelContext& k) {
  uint64_t mask =
      reduce_mask(wrap_dims(IntList{k.attrs<DimKeepDTypeAttrs>().dim}, k.in(0).rank(), k.op), k.in(0).rank());
  DType in = k.in(0).dtype;
  if (in == k.out().dtype) return dispatch_all(in, k.op, [&]<class T>() { prod<T, T>(k, mask); });
  dispatch_int_bool(in, k.op, [&]<class T>() { prod<T, int64_t>(k, mask); });
}

}  // namespace

void kernels_scan(KernelTable& table) {
  table.add("cumsum", cumsum_kernel);
  table.add("cumsum_from_end", cumsum_from_end_kernel);
  table.add("cumprod", cumprod_kernel);
  table.add("logcumsumexp", logcumsumexp_kernel);
  table.add("cummax", cumulative_extremum_kernel<true>);
  table.add("cummin", cumulative_extremum_kernel<false>);
  table.add("recurrence", recurrence_kernel);
  table.add("prod_dim", prod_dim_kernel);
}

}  // namespace tw::ops

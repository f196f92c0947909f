// One read of each row from memory, the rest in the first-level cache. Floor: forward x and y, backward g, y
// and dx over the bandwidth; on two cores the exponentials (one an element, in log_softmax's backward too)
// weigh as much.
#include "device/cpu/dense.h"
#include "device/cpu/math_functions.h"
#include "device/cpu/rows.h"
#include "device/cpu/softmax_row.h"
#include "ops/activation/softmax_formula.h"
#include "ops/reduction/reduction.h"

namespace tw::ops {

using namespace device;

namespace {

template <class T>
TW_CLONES __attribute__((flatten)) void softmax_row(int64_t n, const stored_t<T>* x, stored_t<T>* y,
                                                    compute_t<T>* e) {
  using C = compute_t<T>;
  C max = row_max<T>(n, x, [=](int64_t i) { fetch_to_write(y, i); });
  C scale = C(1) / row_exp<T>(n, x, max, e);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) y[i] = store<T>(e[i] * scale);
}

template <class T>
TW_CLONES __attribute__((flatten)) void log_softmax_row(int64_t n, const stored_t<T>* x, stored_t<T>* y) {
  using C = compute_t<T>;
  auto total = row_log_sum<T>(n, x);
  C max = total.max, log_sum = math::log(total.sum);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) y[i] = store<T>(load<T>(x[i]) - max - log_sum);
}

template <class T>
TW_CLONES __attribute__((flatten)) void softmax_backward_row(int64_t n, const stored_t<T>* g,
                                                             const stored_t<T>* y, stored_t<T>* dx) {
  using C = compute_t<T>;
  C dot = reduce_span(
      n, C(0), [=](int64_t i) { return load<T>(g[i]) * load<T>(y[i]); }, [](C a, C b) { return a + b; },
      [=](int64_t i) { fetch_to_write(dx, i); });
  row_pass(
      n, [=](int64_t i) { dx[i] = store<T>(softmax_gradient(load<T>(g[i]), load<T>(y[i]), dot)); }, g, y);
}

template <class T>
TW_CLONES __attribute__((flatten)) void log_softmax_backward_row(int64_t n, const stored_t<T>* g,
                                                                 const stored_t<T>* y, stored_t<T>* dx) {
  using C = compute_t<T>;
  C sum = reduce_span(
      n, C(0), [=](int64_t i) { return load<T>(g[i]); }, [](C a, C b) { return a + b; },
      [=](int64_t i) { fetch_to_write(dx, i); });
  row_pass(
      n,
      [=](int64_t i) {
        dx[i] = store<T>(log_softmax_gradient<math::Functions>(load<T>(g[i]), load<T>(y[i]), sum));
      },
      g, y);
}

int64_t row_length(const Operand& x, int64_t dim) { return x.rank() == 0 ? 1 : x.size(dim); }

template <bool kLog>
void forward_kernel(KernelContext& k) {
  if (k.out().count() == 0) return;
  int64_t dim = wrap_dim(k.attrs<DimDTypeAttrs>().dim, k.in(0).rank(), k.op), n = row_length(k.in(0), dim);
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    row_loop({&k.out()}, {&k.in(0)}, dim, [&](int64_t, char* const* data) {
      auto* y = reinterpret_cast<stored_t<T>*>(data[0]);
      auto* x = reinterpret_cast<const stored_t<T>*>(data[1]);
      if constexpr (kLog) {
        log_softmax_row<T>(n, x, y);
      } else if constexpr (is_half_type<T>) {
        softmax_row<T>(n, x, y, ScratchArray<float>(n).data());
      } else {
        softmax_row<T>(n, x, y, y);
      }
    });
  });
}

template <bool kLog>
void backward_kernel(KernelContext& k) {
  if (k.out().count() == 0) return;
  int64_t dim = wrap_dim(k.attrs<RowDimAttrs>().dim, k.in(0).rank(), k.op), n = row_length(k.in(0), dim);
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    row_loop({&k.out()}, {&k.in(0), &k.in(1)}, dim, [&](int64_t, char* const* data) {
      auto* dx = reinterpret_cast<stored_t<T>*>(data[0]);
      auto* g = reinterpret_cast<const stored_t<T>*>(data[1]);
      auto* y = reinterpret_cast<const stored_t<T>*>(data[2]);
      kLog ? log_softmax_backward_row<T>(n, g, y, dx) : softmax_backward_row<T>(n, g, y, dx);
    });
  });
}

}  // namespace

void kernels_softmax(KernelTable& table) {
  table.add("softmax", forward_kernel<false>);
  table.add("log_softmax", forward_kernel<true>);
  table.add("softmax_backward", backward_kernel<false>);
  table.add("log_softmax_backward", backward_kernel<true>);
}

}  // namespace tw::ops

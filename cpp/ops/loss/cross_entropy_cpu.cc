// Forward reads each row of the input once; backward reads it once more and writes the gradient: nothing else
// is of that size. Floor: these bytes over the bandwidth, and one exponential an element each way.
#include "ops/loss/cross_entropy.h"

#include <algorithm>
#include <vector>

#include "device/cpu/dense.h"
#include "device/cpu/parallel.h"
#include "device/cpu/row_sum.h"
#include "device/cpu/rows.h"
#include "device/cpu/softmax_row.h"
#include "ops/loss/cross_entropy_formula.h"

namespace tw::ops {

using namespace device;

namespace {

// The input with its rows, and what is known of the classes.
template <class T>
struct Problem {
  using C = compute_t<T>;
  int64_t dim, classes, rows;
  Dense<int64_t> target;
  Dense<C> weight;
  double smoothing, weight_sum;
  int64_t ignore_index;

  Problem(const Operand& x, const Operand& targets, const Operand& weights, const CrossEntropyAttrs& a)
      : dim(x.rank() > 1 ? 1 : 0),
        classes(x.size(dim)),
        rows(targets.count()),
        target(targets),
        weight(weights),
        smoothing(a.label_smoothing),
        weight_sum(static_cast<double>(classes)),
        ignore_index(a.ignore_index) {
    if (weight.data()) {
      weight_sum = 0;
      for (int64_t c = 0; c < classes; c++) weight_sum += static_cast<double>(weight[c]);
    }
    for (int64_t row = 0; row < rows; row++)
      TW_CHECK(kept(row) ? target[row] >= 0 && target[row] < classes : true, kIndex,
               "cross_entropy: target must be a class in [0, ", classes, ") or ", ignore_index, ", got ",
               target[row]);
  }
  CrossEntropyFormula<double> formula() const {
    return {smoothing, static_cast<double>(classes), weight_sum};
  }
  bool kept(int64_t row) const { return target[row] != ignore_index; }
  double weight_of(int64_t row) const { return weight.data() ? static_cast<double>(weight[target[row]]) : 1; }
  double scale(int64_t row) const { return kept(row) ? formula().scale(weight_of(row)) : 0; }
  // What "mean" divides by.
  double divisor(const std::string& reduction) const {
    if (reduction != "mean") return 1;
    double total = 0;
    for (int64_t row = 0; row < rows; row++) total += kept(row) ? weight_of(row) : 0;
    return total;
  }
};

template <class T>
TW_CLONES __attribute__((flatten)) LogSum<compute_t<T>> log_sum_row(int64_t n, const stored_t<T>* x) {
  return row_log_sum<T>(n, x);
}

// Σ w[c] x[c]
template <class T>
TW_CLONES __attribute__((flatten)) double weighted_sum(int64_t n, const stored_t<T>* x,
                                                       const compute_t<T>* w) {
  using C = compute_t<T>;
  if (!w) return long_sum<C>(n, [x](int64_t i) { return load<T>(x[i]); });
  return long_sum<C>(n, [x, w](int64_t i) { return w[i] * load<T>(x[i]); });
}

template <class T>
void forward(KernelContext& k) {
  using C = compute_t<T>;
  const auto& a = k.attrs<CrossEntropyAttrs>();
  Problem<T> p(k.in(0), k.in(1), k.in(2), a);
  double divisor = p.divisor(a.reduction);
  std::vector<double> losses(p.rows, 0.0);
  C *log_sums = k.out(1).as<C>(), *scales = k.out(2).as<C>();
  // The other outputs have no dim of classes, so the rows are walked by the input alone.
  const Operand* rows[] = {&k.in(0)};
  auto visit = [&](int64_t row, char* const* data) {
    auto* x = reinterpret_cast<const stored_t<T>*>(data[0]);
    auto total = log_sum_row<T>(p.classes, x);
    double log_sum = static_cast<double>(total.value());
    log_sums[row] = C(log_sum);
    scales[row] = C(p.scale(row) / divisor);
    if (!p.kept(row)) return;
    double picked = static_cast<double>(total.max) - static_cast<double>(load<T>(x[p.target[row]])) +
                    static_cast<double>(math::log(total.sum));
    double loss = p.formula().hard_loss(p.weight_of(row), picked);
    if (p.smoothing > 0)
      loss += p.formula().smooth_loss(log_sum, weighted_sum<T>(p.classes, x, p.weight.data()));
    losses[row] = loss;
  };
  if (k.in(0).count() > 0) run_rows(rows, 0, p.dim, visit);
  auto* out = k.out(0).as<stored_t<T>>();
  if (a.reduction == "none") {
    for (int64_t row = 0; row < p.rows; row++) out[row] = store<T>(losses[row]);
    return;
  }
  double total = 0;
  for (double loss : losses) total += loss;
  out[0] = store<T>(total / divisor);
}

// dx = g (scale exp(x - log_sum) - smooth w), and at the target less g hard.
template <class T>
struct RowTerms {
  compute_t<T> log_sum, scale, smooth, hard;
};
template <class T>
TW_CLONES __attribute__((flatten)) void backward_row(int64_t n, const stored_t<T>* x, const compute_t<T>* w,
                                                     RowTerms<T> t, int64_t target, stored_t<T>* dx) {
  using C = compute_t<T>;
  C log_sum = t.log_sum, scale = t.scale, smooth = t.smooth;
  C at_target = scale * math::exp(load<T>(x[target]) - log_sum) - (w ? smooth * w[target] : smooth) - t.hard;
  if (smooth != 0 && w) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++)
      dx[i] = store<T>(scale * math::exp_nonpositive(load<T>(x[i]) - log_sum) - smooth * w[i]);
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++)
      dx[i] = store<T>(scale * math::exp_nonpositive(load<T>(x[i]) - log_sum) - smooth);
  }
  dx[target] = store<T>(at_target);
}

template <class T>
void backward(KernelContext& k) {
  using C = compute_t<T>;
  const auto& a = k.attrs<CrossEntropyAttrs>();
  if (k.in(1).count() == 0) return;
  Problem<T> p(k.in(1), k.in(2), k.in(5), a);
  Dense<C> grad(k.in(0)), log_sum(k.in(3)), scale(k.in(4));
  bool none = a.reduction == "none";
  row_loop({&k.out()}, {&k.in(1)}, p.dim, [&](int64_t row, char* const* data) {
    auto* dx = reinterpret_cast<stored_t<T>*>(data[0]);
    auto* x = reinterpret_cast<const stored_t<T>*>(data[1]);
    if (!p.kept(row)) {
      std::fill_n(dx, p.classes, store<T>(C(0)));
      return;
    }
    auto terms = p.formula().gradient(static_cast<double>(grad[none ? row : 0]),
                                      static_cast<double>(scale[row]), p.weight_of(row));
    RowTerms<T> t{log_sum[row], C(terms.scale), C(terms.smooth), C(terms.hard)};
    backward_row<T>(p.classes, x, p.weight.data(), t, p.target[row], dx);
  });
}

void cross_entropy_kernel(KernelContext& k) {
  dispatch_float(k.in(0).dtype, k.op, [&]<class T>() { forward<T>(k); });
}
void cross_entropy_backward_kernel(KernelContext& k) {
  dispatch_float(k.in(1).dtype, k.op, [&]<class T>() { backward<T>(k); });
}

}  // namespace

void kernels_cross_entropy(KernelTable& table) {
  table.add("cross_entropy_index", cross_entropy_kernel);
  table.add("cross_entropy_backward", cross_entropy_backward_kernel);
}

}  // namespace tw::ops

// Forward reads one element a row; backward writes zeros and one element a row.
#include <cstring>
#include <vector>

#include "device/cpu/dense.h"
#include "ops/loss/cross_entropy.h"

namespace tw::ops {

using namespace device;

namespace {

// Rows of [outer, classes, inner], numbered over outer and inner.
struct Rows {
  int64_t outer = 1, classes, inner = 1;
  explicit Rows(const Operand& x) : classes(x.size(x.rank() > 1 ? 1 : 0)) {
    if (x.rank() > 1) outer = x.size(0);
    for (int64_t d = 2; d < x.rank(); d++) inner *= x.size(d);
  }
  int64_t count() const { return outer * inner; }
  int64_t at(int64_t row, int64_t cls) const { return (row / inner * classes + cls) * inner + row % inner; }
};

// The weight of each row's target, 0 where it is ignored.
template <class C>
std::vector<double> row_weights(const Rows& rows, const Dense<int64_t>& target, const Dense<C>& weight,
                                int64_t ignored) {
  std::vector<double> result(rows.count());
  for (int64_t row = 0; row < rows.count(); row++) {
    int64_t t = target[row];
    TW_CHECK(t == ignored || (t >= 0 && t < rows.classes), kIndex, "nll_loss: target must be a class in [0, ",
             rows.classes, ") or ", ignored, ", got ", t);
    result[row] = t == ignored ? 0 : (weight.data() ? static_cast<double>(weight[t]) : 1);
  }
  return result;
}

double sum_of(const std::vector<double>& values) {
  double total = 0;
  for (double value : values) total += value;
  return total;
}

void nll_loss_kernel(KernelContext& k) {
  const auto& a = k.attrs<NllAttrs>();
  Rows rows(k.in(0));
  dispatch_float(k.in(0).dtype, k.op, [&]<class T>() {
    Dense<T> x(k.in(0));
    Dense<int64_t> target(k.in(1));
    Dense<compute_t<T>> weight(k.in(2));
    std::vector<double> losses = row_weights(rows, target, weight, a.ignore_index);
    double divisor = a.reduction == "mean" ? sum_of(losses) : 1;
    for (int64_t row = 0; row < rows.count(); row++)
      if (target[row] != a.ignore_index)
        losses[row] *= -static_cast<double>(load<T>(x[rows.at(row, target[row])]));
    auto* out = k.out().as<stored_t<T>>();
    if (a.reduction != "none") {
      out[0] = store<T>(sum_of(losses) / divisor);
      return;
    }
    for (int64_t row = 0; row < rows.count(); row++) out[row] = store<T>(losses[row]);
  });
}

void nll_loss_backward_kernel(KernelContext& k) {
  const auto& a = k.attrs<NllBackwardAttrs>();
  Rows rows(k.out());
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    Dense<C> grad(k.in(0)), weight(k.in(2));
    Dense<int64_t> target(k.in(1));
    std::vector<double> weights = row_weights(rows, target, weight, a.ignore_index);
    double divisor = a.reduction == "mean" ? sum_of(weights) : 1;
    auto* dx = k.out().as<stored_t<T>>();
    std::memset(static_cast<void*>(dx), 0, static_cast<size_t>(k.out().count()) * sizeof(T));
    for (int64_t row = 0; row < rows.count(); row++) {
      if (target[row] == a.ignore_index) continue;
      double g = static_cast<double>(grad[a.reduction == "none" ? row : 0]);
      dx[rows.at(row, target[row])] = store<T>(-g * weights[row] / divisor);
    }
  });
}

}  // namespace

void kernels_nll_loss(KernelTable& table) {
  table.add("nll_loss_index", nll_loss_kernel);
  table.add("nll_loss_backward", nll_loss_backward_kernel);
}

}  // namespace tw::ops

// nll_loss and its gradient. Forward reads one element a row, the target and its weight; backward writes the
// whole gradient, zeros beside the target's class. Sums are in double. Floor: these bytes over the bandwidth.
// Targets that are no class are an error, which the next to wait for the device is told.
//
// Per element: 4 bytes and 5 operations (the gradient of nll_loss, float32).
#include "cuda/common/dense.h"
#include "cuda/common/mistakes.h"
#include "cuda/common/rows.h"
#include "ops/loss/cross_entropy.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

constexpr int kThreads = block_threads(256);

void no_class(const char*, int64_t target, int64_t classes) {
  TW_FAIL(kIndex, "nll_loss: target must be a class in [0, ", classes, ") or ignore_index, got ", target);
}

template <class C>
struct Labels {
  const int64_t* target;
  const C* weight;  // null: 1 each
  int64_t classes, ignore_index;
  MistakeNote wrong;

  // The row's class, -1 where it is ignored or none.
  TW_DEVICE int64_t class_of(int64_t row) const {
    int64_t t = target[row];
    if (t == ignore_index) return -1;
    if (t >= 0 && t < classes) return t;
    wrong(t, classes);
    return -1;
  }
  TW_DEVICE double weight_of(int64_t label) const {
    if (label < 0) return 0;
    return weight ? static_cast<double>(weight[label]) : 1;
  }
};

TW_DEVICE int64_t task_of_thread() { return static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; }
Grid grid_for(int64_t tasks) { return {static_cast<unsigned>((tasks + kThreads - 1) / kThreads), kThreads}; }

// Of each row its loss (null: not wanted) and its weight.
template <class T>
__global__ void __launch_bounds__(kThreads)
    nll_rows_kernel(Rows<1> rows, Labels<compute_t<T>> labels, double* losses, double* weights) {
  int64_t row = task_of_thread();
  if (row >= rows.count) return;
  int64_t label = labels.class_of(row);
  double weight = labels.weight_of(label);
  weights[row] = weight;
  if (!losses) return;
  char* at[1];
  rows.at(row, at);
  losses[row] = label < 0 ? 0 : -weight * static_cast<double>(value_at<T>(at[0], rows.steps[0], label));
}

struct TotalOver {
  const double* divisor;  // null: 1
  TW_DEVICE double none() const { return 0; }
  TW_DEVICE double map(double x) const { return x; }
  TW_DEVICE double combine(double a, double b) const { return a + b; }
  TW_DEVICE double finish(double total) const { return divisor ? total / *divisor : total; }
};

// *out = Σ values / *divisor
void total(double* values, int64_t count, const double* divisor, void* out, DType dtype, const char* op) {
  Dims sizes{count}, strides{1}, none;
  reduce<double, double>({values, &sizes, &strides, DType::kFloat64}, {out, &none, &none, dtype}, 1, op,
                         TotalOver{divisor});
}

int64_t class_dim(const Operand& x) { return x.rank() > 1 ? 1 : 0; }

template <class T>
void forward(KernelContext& k, const ops::NllAttrs& a) {
  using C = compute_t<T>;
  const Operand& x = k.in(0);
  Dense<int64_t> target(k.in(1), k.op);
  Dense<C> weight(k.in(2), k.op);
  Labels<C> labels{target.data(), weight.data(), x.size(class_dim(x)), a.ignore_index,
                   mistake_note(k.op, no_class)};
  auto rows = make_rows<1>({&x}, class_dim(x), k.op);
  DeviceScratch memory(static_cast<size_t>(2 * rows.count + 1) * sizeof(double));
  double *losses = memory.as<double>(), *weights = losses + rows.count, *divisor = weights + rows.count;
  launch(k.op, nll_rows_kernel<T>, grid_for(rows.count), rows, labels, losses, weights);
  const Operand& out = k.out();
  if (a.reduction == "none") {
    Dims strides = contiguous_strides(*out.sizes);
    copy_cast(out, {losses, out.sizes, &strides, DType::kFloat64}, k.op);
  } else {
    bool mean = a.reduction == "mean";
    if (mean) total(weights, rows.count, nullptr, divisor, DType::kFloat64, k.op);
    total(losses, rows.count, mean ? divisor : nullptr, out.data, out.dtype, k.op);
  }
}

// A thread an element of dx [outer, classes, inner].
template <class T>
__global__ void __launch_bounds__(kThreads)
    nll_backward_kernel(Labels<compute_t<T>> labels, int64_t count, int64_t inner, const compute_t<T>* grad,
                        bool grad_by_row, const double* divisor, stored_t<T>* dx) {
  int64_t element = task_of_thread();
  if (element >= count) return;
  int64_t position = element % inner, label = element / inner % labels.classes;
  int64_t row = element / inner / labels.classes * inner + position;
  double value = 0;
  if (labels.class_of(row) == label) {
    value = -static_cast<double>(grad[grad_by_row ? row : 0]) * labels.weight_of(label);
    if (divisor) value /= *divisor;
  }
  dx[element] = store<T>(value);
}

template <class T>
void backward(KernelContext& k, const ops::NllBackwardAttrs& a) {
  using C = compute_t<T>;
  const Operand& dx = k.out();
  if (dx.count() == 0) return;
  Dense<C> grad(k.in(0), k.op), weight(k.in(2), k.op);
  Dense<int64_t> target(k.in(1), k.op);
  Labels<C> labels{target.data(), weight.data(), a.classes, a.ignore_index, mistake_note(k.op, no_class)};
  bool mean = a.reduction == "mean";
  auto rows = make_rows<1>({&dx}, class_dim(dx), k.op);
  DeviceScratch memory(mean ? static_cast<size_t>(rows.count + 1) * sizeof(double) : 0);
  double *weights = memory.as<double>(), *divisor = mean ? weights + rows.count : nullptr;
  if (mean) {
    launch(k.op, nll_rows_kernel<T>, grid_for(rows.count), rows, labels, nullptr, weights);
    total(weights, rows.count, nullptr, divisor, DType::kFloat64, k.op);
  }
  int64_t inner = dx.rank() > 1 ? rows.count / dx.size(0) : 1;
  launch(k.op, nll_backward_kernel<T>, grid_for(dx.count()), labels, dx.count(), inner, grad.data(),
         a.reduction == "none", divisor, dx.as<stored_t<T>>());
}

void nll_loss_kernel(KernelContext& k) {
  dispatch_float(k.in(0).dtype, k.op, [&]<class T>() { forward<T>(k, k.attrs<ops::NllAttrs>()); });
}
void nll_loss_backward_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { backward<T>(k, k.attrs<ops::NllBackwardAttrs>()); });
}

}  // namespace

void kernels_nll_loss(device::KernelTable& table) {
  table.add("nll_loss_index", nll_loss_kernel);
  table.add("nll_loss_backward", nll_loss_backward_kernel);
}

}  // namespace tw::cuda

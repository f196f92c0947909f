// cross_entropy and its gradient, without the softmax ever being stored. Forward reads the input once,
// backward reads it once more and writes the gradient; an exponential an element each way. Floor: these bytes
// over the bandwidth. Targets that are no class are an error, which the next to wait for the device is told.
//
// Per element: 4 bytes and 20 operations (cross_entropy, float32).
#include "ops/loss/cross_entropy.h"

#include "cuda/common/dense.h"
#include "cuda/common/mistakes.h"
#include "cuda/common/rows.h"
#include "ops/loss/cross_entropy_formula.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

void no_class(const char*, int64_t target, int64_t classes) {
  TW_FAIL(kIndex, "cross_entropy: target must be a class in [0, ", classes, ") or ignore_index, got ",
          target);
}

// What both directions know of the classes. C: the type of sums.
template <class C>
struct Classes {
  const int64_t* target;
  const C *weight, *weight_sum;  // of each class, and of all; null: 1 each
  int64_t classes, ignore_index;
  C smoothing;
  MistakeNote wrong;

  TW_DEVICE bool kept(int64_t row) const {
    int64_t t = target[row];
    return t != ignore_index && t >= 0 && t < classes;
  }
  TW_DEVICE void check(int64_t row) const {
    if (!kept(row) && target[row] != ignore_index) wrong(target[row], classes);
  }
  TW_DEVICE C weight_of(int64_t c) const { return weight ? weight[c] : C(1); }
  TW_DEVICE ops::CrossEntropyFormula<C> formula() const {
    return {smoothing, static_cast<C>(classes), weight ? *weight_sum : static_cast<C>(classes)};
  }
  TW_DEVICE C scale(int64_t row) const { return kept(row) ? formula().scale(weight_of(target[row])) : C(0); }
};

// Of each row: its logsumexp, its loss, and what it weighs in a mean.
template <class T, int kGroup>
__global__ void __launch_bounds__(kReduceThreads)
    loss_rows_kernel(Rows<1> rows, Classes<compute_t<T>> p, compute_t<T>* log_sums, compute_t<T>* losses,
                     compute_t<T>* weights) {
  using C = compute_t<T>;
  int64_t row = row_of_thread<kGroup>(), length = row < rows.count ? rows.length : 0;
  char* at[1];
  rows.at(row < rows.count ? row : 0, at);
  LogSum<C> own;
  C weighted = 0;
  for (int64_t i = thread_of_row<kGroup>(); i < length; i += kGroup) {
    C x = value_at<T>(at[0], rows.steps[0], i);
    own.add(x);
    if (p.smoothing > C(0)) weighted += p.weight_of(i) * x;
  }
  LogSum<C> whole = own.template of_group<kGroup>();
  weighted = group_reduce<kGroup>(weighted, C(0), Plus());
  if (row >= rows.count || thread_of_row<kGroup>() != 0) return;
  C log_sum = whole.most + std::log(whole.sum), loss = 0;
  bool kept = p.kept(row);
  int64_t target = p.target[row];
  p.check(row);
  if (kept) {
    C picked = whole.most - value_at<T>(at[0], rows.steps[0], target) + std::log(whole.sum);
    loss = p.formula().hard_loss(p.weight_of(target), picked);
    if (p.smoothing > C(0)) loss += p.formula().smooth_loss(log_sum, weighted);
  }
  log_sums[row] = log_sum;
  losses[row] = loss;
  weights[row] = kept ? p.weight_of(target) : C(0);
}

enum class Reduction { kNone, kSum, kMean };

// One block: the sum or mean of the losses, and of each row its scale over what the mean divides by.
template <class T>
__global__ void __launch_bounds__(kReduceThreads)
    loss_total_kernel(Classes<compute_t<T>> p, int64_t rows, const compute_t<T>* losses,
                      const compute_t<T>* weights, compute_t<T>* scales, stored_t<T>* out,
                      Reduction reduction) {
  using C = compute_t<T>;
  C loss = 0, weight = 0;
  for (int64_t row = threadIdx.x; row < rows; row += kReduceThreads) {
    loss += losses[row];
    weight += weights[row];
  }
  loss = block_reduce<kReduceThreads>(loss, C(0), Plus());
  weight = block_reduce<kReduceThreads>(weight, C(0), Plus());
  C divisor = reduction == Reduction::kMean ? weight : C(1);
  for (int64_t row = threadIdx.x; row < rows; row += kReduceThreads) {
    scales[row] = p.scale(row) / divisor;
    if (reduction == Reduction::kNone) out[row] = store<T>(losses[row]);
  }
  if (reduction != Reduction::kNone && threadIdx.x == 0) *out = store<T>(loss / divisor);
}

// Operands: dx, x.
template <class T, int kGroup>
__global__ void __launch_bounds__(kReduceThreads)
    loss_backward_kernel(Rows<2> rows, Classes<compute_t<T>> p, const compute_t<T>* grad,
                         const compute_t<T>* log_sums, const compute_t<T>* scales, bool grad_by_row) {
  using C = compute_t<T>;
  int64_t row = row_of_thread<kGroup>();
  if (row >= rows.count) return;
  char* at[2];
  rows.at(row, at);
  bool kept = p.kept(row);
  C weight = kept ? p.weight_of(p.target[row]) : C(0);
  auto [scale, smooth, hard] = p.formula().gradient(grad[grad_by_row ? row : 0], scales[row], weight);
  for (int64_t i = thread_of_row<kGroup>(); i < rows.length; i += kGroup) {
    C x = value_at<T>(at[1], rows.steps[1], i);
    C value =
        scale * std::exp(x - log_sums[row]) - smooth * p.weight_of(i) - (i == p.target[row] ? hard : C(0));
    put_at<T>(at[0], rows.steps[0], i, kept ? value : C(0));
  }
}

template <class C>
struct WeightSum {
  TW_DEVICE C none() const { return C(0); }
  TW_DEVICE C map(C x) const { return x; }
  TW_DEVICE C combine(C a, C b) const { return a + b; }
  TW_DEVICE C finish(C total) const { return total; }
};

// The operands that describe the classes, as the kernels want them.
template <class C>
class Targets {
 public:
  Targets(const Operand& target, const Operand& weight, int64_t classes, const ops::CrossEntropyAttrs& a,
          const char* op)
      : target_(target, op), weight_(weight, op), sum_(sizeof(C)) {
    view = {target_.data(),
            weight_.data(),
            sum_.as<C>(),
            classes,
            a.ignore_index,
            static_cast<C>(a.label_smoothing),
            mistake_note(op, no_class)};
    if (!weight_.data()) return;
    Dims sizes{classes}, strides{1}, none;
    reduce<C, C>({weight_.data(), &sizes, &strides, dtype_of<C>}, {sum_.as<C>(), &none, &none, dtype_of<C>},
                 1, op, WeightSum<C>());
  }
  Classes<C> view;

 private:
  Dense<int64_t> target_;
  Dense<C> weight_;
  DeviceScratch sum_;
};

int64_t class_dim(const Operand& x) { return x.rank() > 1 ? 1 : 0; }

template <class T>
void forward(KernelContext& k) {
  using C = compute_t<T>;
  const auto& a = k.attrs<ops::CrossEntropyAttrs>();
  const Operand& x = k.in(0);
  Targets<C> targets(k.in(1), k.in(2), x.size(class_dim(x)), a, k.op);
  auto rows = make_rows<1>({&x}, class_dim(x), k.op);
  DeviceScratch losses(static_cast<size_t>(rows.count) * sizeof(C)),
      weights(static_cast<size_t>(rows.count) * sizeof(C));
  launch_on_rows(k.op, rows, loss_rows_kernel<T, kLanes>, loss_rows_kernel<T, kReduceThreads>, targets.view,
                 k.out(1).as<C>(), losses.as<C>(), weights.as<C>());
  Reduction reduction = a.reduction == "mean"  ? Reduction::kMean
                        : a.reduction == "sum" ? Reduction::kSum
                                               : Reduction::kNone;
  launch(k.op, loss_total_kernel<T>, {1, kReduceThreads}, targets.view, rows.count, losses.as<const C>(),
         weights.as<const C>(), k.out(2).as<C>(), k.out(0).as<stored_t<T>>(), reduction);
}

template <class T>
void backward(KernelContext& k) {
  using C = compute_t<T>;
  const auto& a = k.attrs<ops::CrossEntropyAttrs>();
  const Operand& x = k.in(1);
  if (x.count() == 0) return;
  Targets<C> targets(k.in(2), k.in(5), x.size(class_dim(x)), a, k.op);
  Dense<C> grad(k.in(0), k.op), log_sums(k.in(3), k.op), scales(k.in(4), k.op);
  auto rows = make_rows<2>({&k.out(), &x}, class_dim(x), k.op);
  launch_on_rows<2, Classes<C>, const C*, const C*, const C*, bool>(
      k.op, rows, loss_backward_kernel<T, kLanes>, loss_backward_kernel<T, kReduceThreads>, targets.view,
      grad.data(), log_sums.data(), scales.data(), a.reduction == "none");
}

void cross_entropy_kernel(KernelContext& k) {
  dispatch_float(k.in(0).dtype, k.op, [&]<class T>() { forward<T>(k); });
}
void cross_entropy_backward_kernel(KernelContext& k) {
  dispatch_float(k.in(1).dtype, k.op, [&]<class T>() { backward<T>(k); });
}

}  // namespace

void kernels_cross_entropy(device::KernelTable& table) {
  table.add("cross_entropy_index", cross_entropy_kernel);
  table.add("cross_entropy_backward", cross_entropy_backward_kernel);
}

}  // namespace tw::cuda

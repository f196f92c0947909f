// cross_entropy_index: log_softmax and nll_loss in one pass, for class indices. With p = softmax(x) of a row,
// target t, class weights w, W = Σ w and smoothing s:
//   loss = (1 - s) w[t] (-log p[t]) + (s / classes) Σ w[c] (-log p[c]);  mean divides by Σ w[t] over the kept
//   rows. d loss / d x = a p - r, a = (1 - s) w[t] + s W / classes, r = (1 - s) w[t] at t plus (s / classes)
//   w.
// Saved: input, log Σ exp and a (over the divisor) of each row: nothing of the input's size but the input
// itself.
#include "ops/loss/cross_entropy.h"

#include "ops/loss/class_shape.h"
#include "ops/shape_checks.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_forward(InferContext& c) {
  const auto& a = c.attrs<CrossEntropyAttrs>();
  check_reduction(a.reduction, "cross_entropy");
  TW_CHECK(a.label_smoothing >= 0 && a.label_smoothing <= 1, kRuntime,
           "cross_entropy: label_smoothing must be in [0, 1], got ", a.label_smoothing);
  check_classes(c, c.in(0), c.in(1), 2);
  DType dtype = c.in(0).dtype, exact = is_half(dtype) ? DType::kFloat32 : dtype;
  c.output(dtype, a.reduction == "none" ? c.in(1).sizes : Dims());
  c.output(exact, c.in(1).sizes);
  c.output(exact, c.in(1).sizes);
}

void forward_grad(GradContext& c) {
  const auto& a = c.attrs<CrossEntropyAttrs>();
  c.set(0, op<"cross_entropy_backward">(c.grad(0), c.input(0), c.input(1), c.output(1), c.output(2),
                                        c.input(2), a.ignore_index, a.reduction, a.label_smoothing));
}

void infer_backward(InferContext& c) {
  const Dims& x = c.in(1).sizes;
  TW_CHECK(!x.empty(), kRuntime, c.op, ": an input of at least one dim is wanted, got a scalar");
  Dims rows = x;
  rows.erase(rows.begin() + class_dim(x));
  want_sizes(c, 0, "grad", c.attrs<CrossEntropyAttrs>().reduction == "none" ? rows : Dims());
  want_sizes(c, 2, "target", rows);
  want_sizes(c, 3, "log_sum", rows);
  want_sizes(c, 4, "scale", rows);
  want_sizes(c, 5, "weight", {x[class_dim(x)]});
  c.output(c.in(1).dtype, x);
}

void backward_grad(GradContext& c) {
  const auto& a = c.attrs<CrossEntropyAttrs>();
  Value v = c.grad(), x = c.input(1);
  int64_t dim = class_dim(x->sizes);
  auto row_sum = [&](const Value& value) { return op<"sum">(value, IntList{dim}, true); };
  Value g = c.input(0);
  if (c.needs(0)) {  // linear in g: <v, what g = 1 gives>
    Value ones = op<"full">(g->sizes, 1, g->dtype);
    Value unit = op<"cross_entropy_backward">(ones, x, c.input(2), c.input(3), c.input(4), c.input(5),
                                              a.ignore_index, a.reduction, a.label_smoothing);
    Value product = v * unit;
    c.set(0, a.reduction == "none" ? op<"sum">(product, IntList{dim}, false) : op<"sum">(product));
  }
  if (c.needs(1)) {
    Value p = op<"softmax">(x, dim), weighted = v * p;
    Value rows = op<"unsqueeze">(g * c.input(4), dim);
    c.set(1, rows * (weighted - p * row_sum(weighted)));
  }
}

// Rows are independent; a sum over them leaves a pending reduction, a mean would need the other devices'
// weights, by which its gradient finds `scale` divided already.
void sbp_rows(sbp::RuleContext& c) {
  const auto& a = c.attrs<CrossEntropyAttrs>();
  bool backward = c.inputs.size() == 6;
  const Dims& x = c.inputs[backward ? 1 : 0];
  if (backward) sbp::add_pending(c, {0});
  if (x.size() < 2 || (!backward && a.reduction == "mean")) return;
  for (int64_t dim = 0; dim < static_cast<int64_t>(x.size()); dim++) {
    if (dim == class_dim(x)) continue;
    sbp::Sbp row = sbp::split(dim > 1 ? dim - 1 : dim);
    bool sum = a.reduction != "none";
    if (backward) {
      c.add({{sum ? sbp::broadcast() : row, sbp::split(dim), row, row, row, sbp::broadcast()},
             {sbp::split(dim)}});
    } else {
      c.add({{sbp::split(dim), row, sbp::broadcast()}, {sum ? sbp::partial() : row, row, row}});
    }
  }
}

}  // namespace

void define_cross_entropy(OpRegistry& r) {
  r.op("cross_entropy_index(Tensor input, Tensor target, Tensor? weight=None, int ignore_index=-100,"
       " str reduction=\"mean\", float label_smoothing=0.0) -> (Tensor loss, Tensor log_sum, Tensor scale)",
       &CrossEntropyAttrs::ignore_index, &CrossEntropyAttrs::reduction, &CrossEntropyAttrs::label_smoothing)
      .doc("The cross entropy of softmax(input) with class indices.")
      .visible(1)
      .infer(infer_forward)
      .grad("input target weight log_sum scale", forward_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_rows)
      .cost(reduction_cost<20>);
  r.op("cross_entropy_backward(Tensor grad, Tensor input, Tensor target, Tensor log_sum, Tensor scale, "
       "Tensor? weight,"
       " int ignore_index, str reduction, float label_smoothing) -> Tensor",
       &CrossEntropyAttrs::ignore_index, &CrossEntropyAttrs::reduction, &CrossEntropyAttrs::label_smoothing)
      .doc("The gradient of cross_entropy_index.")
      .infer(infer_backward)
      .grad("grad input target log_sum scale weight", backward_grad)
      .sbp(sbp_rows)
      .cost(pointwise_cost<20>);
}

}  // namespace tw::ops

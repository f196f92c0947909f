// nll_loss: -w[t] x[t] of each row of log-probabilities; mean divides by Σ w[t] over the kept rows. It is
// linear in its input, so the gradient of its gradient is nll_loss itself.
#include "ops/loss/class_shape.h"
#include "ops/loss/cross_entropy.h"
#include "ops/shape_checks.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_forward(InferContext& c) {
  const auto& a = c.attrs<NllAttrs>();
  check_reduction(a.reduction, "nll_loss");
  check_classes(c, c.in(0), c.in(1), 2);
  c.output(c.in(0).dtype, a.reduction == "none" ? c.in(1).sizes : Dims());
}

void infer_backward(InferContext& c) {
  Dims sizes = c.in(1).sizes;
  const auto& a = c.attrs<NllBackwardAttrs>();
  want_sizes(c, 0, "grad", a.reduction == "none" ? sizes : Dims());
  want_sizes(c, 2, "weight", {a.classes});
  sizes.insert(sizes.begin() + (sizes.empty() ? 0 : 1), c.attrs<NllBackwardAttrs>().classes);
  c.output(c.in(0).dtype, sizes);
}

void forward_grad(GradContext& c) {
  const auto& a = c.attrs<NllAttrs>();
  const Dims& sizes = c.input_meta(0).sizes;
  c.set(0, op<"nll_loss_backward">(c.grad(), c.input(1), c.input(2), sizes[class_dim(sizes)], a.ignore_index,
                                   a.reduction));
}

void backward_grad(GradContext& c) {
  const auto& a = c.attrs<NllBackwardAttrs>();
  c.set(0, op<"nll_loss_index">(c.grad(), c.input(1), c.input(2), a.ignore_index, a.reduction));
}

template <class A>
void sbp_rows(sbp::RuleContext& c) {
  bool backward = std::is_same_v<A, NllBackwardAttrs>;
  const Dims& x = backward ? c.outputs[0] : c.inputs[0];
  const std::string& reduction = c.attrs<A>().reduction;
  sbp::add_pending(c, {0});  // linear in input or gradient
  if (x.size() < 2 || reduction == "mean") return;
  for (int64_t dim = 0; dim < static_cast<int64_t>(x.size()); dim++) {
    if (dim == class_dim(x)) continue;
    sbp::Sbp row = sbp::split(dim > 1 ? dim - 1 : dim), full = sbp::split(dim);
    bool sum = reduction == "sum";
    if (backward)
      c.add({{sum ? sbp::broadcast() : row, row, sbp::broadcast()}, {full}});
    else
      c.add({{full, row, sbp::broadcast()}, {sum ? sbp::partial() : row}});
  }
}

}  // namespace

void define_nll_loss(OpRegistry& r) {
  r.op("nll_loss_index(Tensor input, Tensor target, Tensor? weight=None, int ignore_index=-100,"
       " str reduction=\"mean\") -> Tensor",
       &NllAttrs::ignore_index, &NllAttrs::reduction)
      .doc("The negative log-likelihood of class indices.")
      .infer(infer_forward)
      .grad("target weight", forward_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_rows<NllAttrs>)
      .cost(reduction_cost<1>);
  r.op("nll_loss_backward(Tensor grad, Tensor target, Tensor? weight, int classes, int ignore_index, str "
       "reduction)"
       " -> Tensor",
       &NllBackwardAttrs::classes, &NllBackwardAttrs::ignore_index, &NllBackwardAttrs::reduction)
      .doc("The gradient of nll_loss_index.")
      .infer(infer_backward)
      .grad("target weight", backward_grad)
      .sbp(sbp_rows<NllBackwardAttrs>)
      .cost(copy_cost);
}

}  // namespace tw::ops

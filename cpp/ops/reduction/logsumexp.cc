// logsumexp: log Σ exp(x) over some dims; -inf over an empty dim.
#include "ops/reduction/reduced_shape.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_logsumexp(InferContext& c) {
  const auto& a = c.attrs<ReduceGivenAttrs>();
  TW_CHECK(is_float(c.in(0).dtype) || is_complex(c.in(0).dtype), kNotImplemented, c.op, ": dtype ",
           c.in(0).dtype, " is not supported");
  c.output(c.in(0).dtype, reduced_sizes(c.in(0).sizes, a.dim, a.keepdim, c.op));
}

void logsumexp_grad(GradContext& c) {
  const auto& a = c.attrs<ReduceGivenAttrs>();
  Value x = c.input(0), total = c.output();
  auto spread = [&](const Value& value) { return unreduce(value, x->sizes, a.dim, a.keepdim, "logsumexp"); };
  // Where the total is infinite, x - total would be NaN: the weights are exp(x) as they are.
  Value infinite = op<"eq">(op<"abs">(total), std::numeric_limits<double>::infinity());
  Value finite = op<"where">(infinite, op<"full">(total->sizes, 0, total->dtype), total);
  c.set(0, spread(c.grad()) * conj(op<"exp">(x - spread(finite))));
}

void sbp_logsumexp(sbp::RuleContext& c) {
  add_reduction_splits<ReduceGivenAttrs>(c, "logsumexp", std::nullopt);
}

}  // namespace

void define_logsumexp(OpRegistry& r) {
  r.op("logsumexp(Tensor input, int[] dim, bool keepdim=False) -> Tensor", &ReduceGivenAttrs::dim,
       &ReduceGivenAttrs::keepdim)
      .doc("The logarithm of the sum of the exponentials over the given dims.")
      .promote(Promotion::kFloat)
      .infer(infer_logsumexp)
      .grad("input result", logsumexp_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_logsumexp)
      .cost(reduction_cost<20>)
      .expose(kFunction | kMethod | kSpecial);
}

}  // namespace tw::ops

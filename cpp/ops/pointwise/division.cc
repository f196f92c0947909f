// Quotients and remainders.
//
// true_divide makes floats of integers; trunc_divide and floor_divide round the quotient towards zero and
// down and keep integers; fmod has the sign of the dividend, remainder that of the divisor: remainder(a, b) =
// a - floor(a / b) b. Integer division by zero is an error. div is one of the first three, chosen by
// rounding_mode.
#include "ops/pointwise/division.h"

#include "ops/pointwise/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void divide_grad(GradContext& c) {
  Value divisor = conj(c.input(1));
  if (c.needs(0)) c.set(0, op<"true_divide">(c.grad(), divisor));
  if (c.needs(1)) {
    Value ratio = op<"true_divide">(op<"true_divide">(conj(c.input(0)), divisor), divisor);
    c.set(1, -(c.grad() * ratio));
  }
}

// d/db (a - n b) = -n, n being the rounded quotient.
template <OpName kQuotient>
void remainder_grad(GradContext& c) {
  if (c.needs(0)) c.set(0, c.grad());
  if (c.needs(1)) c.set(1, -(c.grad() * op<kQuotient>(c.input(0), c.input(1))));
}

void sbp_divide(sbp::RuleContext& c) {
  sbp::elementwise(c);
  c.add({{sbp::partial(), sbp::broadcast()}, {sbp::partial()}});  // linear in the dividend
}

Values expand_div(const Values& inputs, const void* attrs) {
  const auto& mode = static_cast<const DivAttrs*>(attrs)->rounding_mode;
  if (!mode) return {op<"true_divide">(inputs[0], inputs[1])};
  TW_CHECK(*mode == "trunc" || *mode == "floor", kValue,
           "div: rounding_mode must be None, \"trunc\" or \"floor\", got \"", *mode, '"');
  return {*mode == "trunc" ? op<"trunc_divide">(inputs[0], inputs[1])
                           : op<"floor_divide">(inputs[0], inputs[1])};
}

}  // namespace

void define_division(OpRegistry& r) {
  r.op("true_divide(Tensor input, Tensor other) -> Tensor")
      .doc("input / other; integers become the default float.")
      .promote(Promotion::kFloat)
      .infer(infer_broadcast)
      .grad("input(other) other", divide_grad)
      .autocast(Autocast::kWidest)
      .sbp(sbp_divide)
      .order(ResultOrder::kLikeInputs)
      .cost(pointwise_cost<4>)
      .expose(kEverywhere);
  r.op("div(Tensor input, Tensor other, *, str? rounding_mode=None) -> Tensor", &DivAttrs::rounding_mode)
      .doc(
          "input / other, by rounding_mode: None divides truly, \"trunc\" rounds towards zero, \"floor\" "
          "down.")
      .expand(expand_div)
      .expose(kEverywhere);
  r.op("trunc_divide(Tensor input, Tensor other) -> Tensor")
      .doc("input / other rounded towards zero.")
      .promote(Promotion::kCommon)
      .infer(infer_real_broadcast)
      .grad("", zero_grad)
      .sbp(sbp::elementwise)
      .cost(pointwise_cost<4>);
  r.op("floor_divide(Tensor input, Tensor other) -> Tensor")
      .doc("input / other rounded down.")
      .promote(Promotion::kCommon)
      .infer(infer_real_broadcast)
      .grad("", zero_grad)
      .sbp(sbp::elementwise)
      .cost(pointwise_cost<20>)
      .expose(kEverywhere);
  r.op("remainder(Tensor input, Tensor other) -> Tensor")
      .doc("What dividing with rounding down leaves; it has the sign of other.")
      .promote(Promotion::kCommon)
      .numbers(~0u)
      .infer(infer_real_broadcast)
      .grad("input(other) other(other)", remainder_grad<"floor_divide">)
      .sbp(sbp::elementwise)
      .cost(pointwise_cost<20>)
      .expose(kEverywhere);
  r.op("fmod(Tensor input, Tensor other) -> Tensor")
      .doc("What dividing with rounding towards zero leaves; it has the sign of input.")
      .promote(Promotion::kCommon)
      .infer(infer_real_broadcast)
      .grad("input(other) other(other)", remainder_grad<"trunc_divide">)
      .sbp(sbp::elementwise)
      .cost(pointwise_cost<20>)
      .expose(kEverywhere);
}

}  // namespace tw::ops

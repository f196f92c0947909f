// Functions of two floats.
//   logaddexp = log(exp(a) + exp(b)), logaddexp2 the same to base 2     hypot = sqrt(a^2 + b^2)
//   copysign: the size of a, the sign of b                              nextafter: the float next to a
//   towards b xlogy = a log b, xlog1py = a log(1 + b): 0 where a is 0             heaviside: 0, b or 1 by the
//   sign of a
#include "ops/pointwise/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

// exp(a - result) is the share of a. Where both are the same infinity the difference is NaN: half each is as
// good.
template <OpName kExp>
void logaddexp_grad(GradContext& c) {
  for (int i = 0; i < 2; i++) {
    if (!c.needs(i)) continue;
    Value a = c.input(i), b = c.input(1 - i);
    Value rest = op<"where">(op<"eq">(a, b), 0, b - a);
    c.set(i, c.grad() / conj(op<kExp>(rest) + 1.0));
  }
}

void hypot_grad(GradContext& c) {
  for (int i = 0; i < 2; i++)
    if (c.needs(i)) c.set(i, masked(op<"ne">(c.output(), 0), c.grad() * (c.input(i) / c.output())));
}

void copysign_grad(GradContext& c) {
  if (c.needs(0)) {
    Value ratio = masked(op<"ne">(c.input(0), 0), c.output() / c.input(0));
    c.set(0, c.grad() * ratio);
  }
  if (c.needs(1)) c.set(1, zeros_like(c.input_meta(1)));
}

// A step to the next float moves with its start, and stands still where it has arrived.
void nextafter_grad(GradContext& c) {
  if (c.needs(0)) c.set(0, masked(op<"ne">(c.input(0), c.input(1)), c.grad()));
  if (c.needs(1)) c.set(1, zeros_like(c.input_meta(1)));
}

template <bool kPlusOne>
void xlogy_grad(GradContext& c) {
  Value a = c.input(0), b = kPlusOne ? c.input(1) + 1.0 : c.input(1);
  if (c.needs(0)) {
    Value flat = op<"logical_and">(op<"eq">(a, 0), op<"le">(b, 0));
    Value logarithm = kPlusOne ? op<"log1p">(c.input(1)) : op<"log">(b);
    c.set(0, op<"where">(flat, 0, c.grad() * logarithm));
  }
  if (c.needs(1)) c.set(1, c.grad() * a / b);
}

OpBuilder define_pair(OpRegistry& r, const char* schema, const char* doc,
                      Promotion promotion = Promotion::kFloat) {
  return r.op(schema)
      .doc(doc)
      .promote(promotion)
      .numbers(0)
      .infer(infer_real_broadcast)
      .sbp(sbp::elementwise)
      .cost(pointwise_cost<30>)
      .expose(kFunction | kMethod);
}

}  // namespace

void define_float_pairs(OpRegistry& r) {
  define_pair(r, "logaddexp(Tensor input, Tensor other) -> Tensor",
              "log(exp(input) + exp(other)), without overflow.", Promotion::kCommon)
      .infer([](InferContext& c) {
        TW_CHECK(kind_of(c.in(0).dtype) >= DTypeKind::kFloat, kNotImplemented,
                 "logaddexp: a floating or complex dtype is wanted, got ", c.in(0).dtype);
        infer_broadcast(c);
      })
      .grad("input other", logaddexp_grad<"exp">);
  define_pair(r, "logaddexp2(Tensor input, Tensor other) -> Tensor",
              "log2(2^input + 2^other), without overflow.", Promotion::kCommon)
      .grad("input other", logaddexp_grad<"exp2">);
  define_pair(r, "hypot(Tensor input, Tensor other) -> Tensor", "sqrt(input^2 + other^2), without overflow.",
              Promotion::kCommon)
      .grad("input other result", hypot_grad)
      .expose(kEverywhere);
  define_pair(r, "copysign(Tensor input, Tensor other) -> Tensor",
              "The size of input with the sign of other.")
      .grad("input result", copysign_grad)
      .numbers(~1u)
      .expose(kEverywhere);
  define_pair(r, "nextafter(Tensor input, Tensor other) -> Tensor",
              "The next float after input towards other.", Promotion::kCommon)
      .grad("input other", nextafter_grad)
      .expose(kEverywhere);
  define_pair(r, "xlogy(Tensor input, Tensor other) -> Tensor", "input * log(other), 0 where input is 0.")
      .grad("input other", xlogy_grad<false>)
      .numbers(~0u)
      .expose(kEverywhere | kSpecial);
  define_pair(r, "special_xlog1py(Tensor input, Tensor other) -> Tensor",
              "input * log1p(other), 0 where input is 0.")
      .grad("input other", xlogy_grad<true>)
      .numbers(~0u)
      .expose(kSpecial);
  define_pair(r, "heaviside(Tensor input, Tensor values) -> Tensor", "0 below 0, 1 above, `values` at 0.",
              Promotion::kNone)
      .infer([](InferContext& c) {
        TW_CHECK(c.in(0).dtype == c.in(1).dtype, kRuntime, "heaviside: the dtypes must agree, got ",
                 c.in(0).dtype, " and ", c.in(1).dtype);
        infer_real_broadcast(c);
      })
      .no_grad("the derivative of a step is no function")
      .expose(kEverywhere);
}

}  // namespace tw::ops

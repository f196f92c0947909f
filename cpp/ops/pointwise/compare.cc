// eq, ne, lt, le, gt, ge: bool tensors of the broadcast shape, after promotion to a common dtype. Complex
// numbers have no order. NaN equals nothing.
#include "ops/pointwise/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_order(InferContext& c) {
  check_real(c);
  infer_compare(c);
}

void define_comparison(OpRegistry& r, const char* schema, const char* doc, InferFn infer) {
  r.op(schema)
      .doc(doc)
      .promote(Promotion::kCommon)
      .infer(infer)
      .no_grad("bools have no gradient")
      .sbp(sbp::elementwise)
      .cost(pointwise_cost<1>)
      .expose(kEverywhere);
}

}  // namespace

void define_compare(OpRegistry& r) {
  define_comparison(r, "eq(Tensor input, Tensor other) -> Tensor", "input == other.", infer_compare);
  define_comparison(r, "ne(Tensor input, Tensor other) -> Tensor", "input != other.", infer_compare);
  define_comparison(r, "lt(Tensor input, Tensor other) -> Tensor", "input < other.", infer_order);
  define_comparison(r, "le(Tensor input, Tensor other) -> Tensor", "input <= other.", infer_order);
  define_comparison(r, "gt(Tensor input, Tensor other) -> Tensor", "input > other.", infer_order);
  define_comparison(r, "ge(Tensor input, Tensor other) -> Tensor", "input >= other.", infer_order);
}

}  // namespace tw::ops

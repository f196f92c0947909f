// Questions about single elements, answered by bools. A complex number is infinite or NaN when any part is.
#include "ops/pointwise/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_real_predicate(InferContext& c) {
  check_real(c);
  infer_predicate(c);
}

void define_predicate(OpRegistry& r, const char* schema, const char* doc, InferFn infer) {
  r.op(schema)
      .doc(doc)
      .infer(infer)
      .no_grad("bools have no gradient")
      .sbp(sbp::elementwise)
      .cost(pointwise_cost<1>)
      .expose(kFunction | kMethod);
}

}  // namespace

void define_predicate(OpRegistry& r) {
  define_predicate(r, "isnan(Tensor input) -> Tensor", "Whether the element is NaN.", infer_predicate);
  define_predicate(r, "isinf(Tensor input) -> Tensor", "Whether the element is infinite.", infer_predicate);
  define_predicate(r, "isfinite(Tensor input) -> Tensor", "Whether the element is neither infinite nor NaN.",
                   infer_predicate);
  define_predicate(r, "isposinf(Tensor input) -> Tensor", "Whether the element is infinity.",
                   infer_real_predicate);
  define_predicate(r, "isneginf(Tensor input) -> Tensor", "Whether the element is minus infinity.",
                   infer_real_predicate);
  define_predicate(r, "signbit(Tensor input) -> Tensor", "Whether the sign is negative, that of -0.0 too.",
                   infer_real_predicate);
}

}  // namespace tw::ops

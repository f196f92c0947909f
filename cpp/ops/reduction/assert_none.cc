// assert_none: raises where any element holds. It has no result: a static program keeps it for its effect.
#include "ir/registry.h"
#include "ops/reduction/reduction.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_assert_none(InferContext& c) {
  TW_CHECK(is_bool(c.in(0).dtype), kType, c.op, ": a condition of dtype bool is wanted, got ", c.in(0).dtype);
}

// Every device looks at its own part.
void sbp_assert_none(sbp::RuleContext& c) {
  for (size_t dim = 0; dim < c.inputs[0].size(); dim++) c.add({{sbp::split(static_cast<int64_t>(dim))}, {}});
}

}  // namespace

void define_assert_none(OpRegistry& r) {
  r.op("assert_none(Tensor condition, str error, str message) -> ()", &AssertAttrs::error,
       &AssertAttrs::message)
      .doc(
          "Raises the error (ValueError, IndexError, else RuntimeError) with the message where any element "
          "holds.")
      .infer(infer_assert_none)
      .no_grad("it has no result")
      .sbp(sbp_assert_none)
      .cost(reduction_cost<1>);
}

}  // namespace tw::ops

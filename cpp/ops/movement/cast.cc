// cast, clone, row_major, copy: the ops that move elements unchanged but for their dtype.
//
// cast truncates floats to integers, maps NaN and every nonzero to True, and drops imaginary parts.
#include "ops/movement/cast.h"

#include "ir/emitter.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void cast_grad(GradContext& c) { c.set(0, op<"cast">(c.grad(), c.input_meta(0).dtype)); }
void infer_cast(InferContext& c) { c.output(c.attrs<CastAttrs>().dtype, c.in(0).sizes); }

void clone_grad(GradContext& c) { c.set(0, c.grad()); }

void copy_grad(GradContext& c) {
  if (c.needs(0)) c.set(0, op<"full">(c.input_meta(0).sizes, 0, c.input_meta(0).dtype));
  if (c.needs(1)) c.set(1, c.grad());
}

void infer_copy(InferContext& c) {
  Dims sizes = broadcast_sizes(c.in(0).sizes, c.in(1).sizes, c.op);
  TW_CHECK(sizes == c.in(0).sizes, kRuntime, c.op, ": the source of shape ", c.in(1).sizes,
           " does not broadcast to the target's shape ", c.in(0).sizes);
  infer_same(c);
}

void sbp_cast(sbp::RuleContext& c) {
  sbp::elementwise(c);
  sbp::add_cast(c, {0}, c.input_dtypes[0]);
}

}  // namespace

void define_cast(OpRegistry& r) {
  r.op("cast(Tensor input, dtype dtype) -> Tensor", &CastAttrs::dtype)
      .doc("The elements converted to another dtype.")
      .infer(infer_cast)
      .grad("", cast_grad)
      .sbp(sbp_cast)
      .order(ResultOrder::kLikeInputs)
      .cost(copy_cost);
  r.op("clone(Tensor input) -> Tensor")
      .doc("A copy of the tensor, in its order in memory; without gaps.")
      .infer(infer_same)
      .grad("", clone_grad)
      .sbp(sbp::elementwise_moved)
      .cost(copy_cost);
  r.op("row_major(Tensor input) -> Tensor")
      .doc("A row-major copy of the tensor.")
      .infer(infer_same)
      .grad("", clone_grad)
      .sbp(sbp::elementwise_moved)
      .order(ResultOrder::kRowMajor)
      .cost(copy_cost);
  r.op("copy(Tensor input, Tensor src) -> Tensor")
      .doc("src, converted to input's dtype and broadcast to its shape. In place: overwrites input.")
      .infer(infer_copy)
      .grad("", copy_grad)
      .sbp(sbp::elementwise_copy)
      .cost(copy_cost);
}

}  // namespace tw::ops

// after: its input, but not before `other` is there. A view.
//
// The way in which a graph says that something is computed late: what recomputes a value of the forward pass
// reads its inputs after a gradient. Otherwise it would be the same expression as the one that it repeats,
// and could run right behind it.
#include "ir/emitter.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_after(InferContext& c) { c.output(c.in(0).dtype, c.in(0).sizes); }

bool view_after(const Geometry& input, const void*, Geometry* output) {
  output->offset = input.offset;
  output->strides = input.strides;
  return true;
}

void after_grad(GradContext& c) { c.set(0, c.grad()); }

}  // namespace

void define_after(OpRegistry& r) {
  r.op("after(Tensor input, Tensor other) -> Tensor")
      .doc("The input, as a view, when other has been computed.")
      .infer(infer_after)
      .view(view_after)
      .grad("", after_grad)
      .sbp(sbp::broadcast_only)
      .cost(free_cost);
}

}  // namespace tw::ops

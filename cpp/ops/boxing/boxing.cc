// boxing: its input, laid out as the graph says of its output: placement and SBP may differ, the logical
// value does not. The layouts of the two values say all there is; see ir/graph.h. On local values, and before
// a graph is cut into those of the ranks, it is a view.
#include "ir/emitter.h"

namespace tw::ops {

using namespace ir;

namespace {

bool view_boxing(const Geometry& input, const void*, Geometry* output) {
  output->offset = input.offset;
  output->strides = input.strides;
  return true;
}

}  // namespace

void define_boxing(OpRegistry& r) {
  r.op("boxing(Tensor input) -> Tensor")
      .doc("The input in the layout of the output: the logical identity.")
      .infer(infer_same)
      .view(view_boxing)
      .no_grad("its backward is recorded with it, as another boxing")
      .sbp(sbp::broadcast_only)
      .cost(free_cost);
}

}  // namespace tw::ops

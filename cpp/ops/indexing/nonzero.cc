// nonzero: the positions of the elements that are not zero, one row [rank] each, in row-major order.
#include "ir/emitter.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_nonzero(InferContext& c) { c.output(DType::kInt64, {c.in(0).count(), c.in(0).rank()}); }

}  // namespace

void define_nonzero(OpRegistry& r) {
  r.op("nonzero(Tensor input) -> Tensor")
      .doc("The positions of the elements that are not zero, [count, rank], in row-major order.")
      .infer(infer_nonzero)
      .no_grad("positions are integers")
      .sbp(sbp::broadcast_only)  // how many rows a shard gives depends on data
      .cost(copy_cost)
      .dynamic();
}

}  // namespace tw::ops

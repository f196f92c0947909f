#include "ir/infer.h"

namespace tw::ir {

namespace {

Dims broadcast_all(const InferContext& c) {
  Dims sizes;
  bool first = true;
  for (const ValueImpl* input : c.inputs) {
    if (!input) continue;
    sizes = first ? input->sizes : broadcast_sizes(sizes, input->sizes, c.op);
    first = false;
  }
  return sizes;
}

}  // namespace

void infer_same(InferContext& c) { c.output(c.in(0).dtype, c.in(0).sizes); }
void infer_broadcast(InferContext& c) { c.output(c.in(0).dtype, broadcast_all(c)); }
void infer_compare(InferContext& c) { c.output(DType::kBool, broadcast_all(c)); }
void infer_predicate(InferContext& c) { c.output(DType::kBool, c.in(0).sizes); }

}  // namespace tw::ir

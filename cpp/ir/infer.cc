#include "ir/infer.h"

namespace tw::ir {

namespace {

Dims broadcast_all(const InferContext& c) {
  const Dims* sizes = nullptr;  // nothing is copied while all are equal
  Dims unlike;
  for (const ValueImpl* input : c.inputs) {
    if (!input || (sizes && *sizes == input->sizes)) continue;
    if (sizes) unlike = broadcast_sizes(*sizes, input->sizes, c.op);
    sizes = sizes ? &unlike : &input->sizes;
  }
  return sizes ? *sizes : Dims();
}

}  // namespace

void infer_same(InferContext& c) { c.output(c.in(0).dtype, c.in(0).sizes); }
void infer_broadcast(InferContext& c) { c.output(c.in(0).dtype, broadcast_all(c)); }
void infer_compare(InferContext& c) { c.output(DType::kBool, broadcast_all(c)); }
void infer_predicate(InferContext& c) { c.output(DType::kBool, c.in(0).sizes); }

}  // namespace tw::ir

// select_scatter_sum: the sum of select_scatter_zeros of each part at its own index, which are all there are.
// It is stack(parts, dim), but that -0 has become 0.
#include "ops/fused/select_scatter_sum.h"

#include "ir/registry.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_sum(InferContext& c) {
  TW_CHECK(!c.inputs.empty(), kValue, c.op, ": at least one tensor is wanted");
  const ValueImpl& first = c.in(0);
  TW_CHECK(kind_of(first.dtype) >= DTypeKind::kFloat, kType, c.op,
           ": a floating or complex dtype is wanted, got ", first.dtype);
  for (const ValueImpl* part : c.inputs)
    TW_CHECK(part->dtype == first.dtype && part->sizes == first.sizes, kValue, c.op,
             ": parts of one shape and dtype are wanted, got ", first.sizes, " and ", part->sizes);
  int64_t rank = first.rank() + 1, dim = wrap_dim(c.attrs<SelectScatterSumAttrs>().dim, rank, c.op);
  Dims sizes;
  for (int64_t d = 0; d < rank; d++)
    sizes.push_back(d == dim ? static_cast<int64_t>(c.inputs.size()) : first.sizes[d - (d > dim)]);
  c.output(first.dtype, sizes);
}

}  // namespace

void define_select_scatter_sum(OpRegistry& r) {
  r.op("select_scatter_sum(Tensor[] parts, int dim) -> Tensor", &SelectScatterSumAttrs::dim)
      .doc("The parts side by side along a new dim, with -0 made 0.")
      .infer(infer_sum)
      .no_grad("passes make it, after gradients are recorded")
      .sbp(sbp::broadcast_only)
      .cost(copy_cost);
}

}  // namespace tw::ops

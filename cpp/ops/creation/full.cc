// full: a tensor of one number. Without a dtype it takes that of the number (bool, int64, the default float,
// ...).
#include "ops/creation/full.h"

#include "ir/emitter.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_full(InferContext& c) {
  const auto& a = c.attrs<FullAttrs>();
  c.output(a.dtype.value_or(default_dtype(a.fill_value.kind())), a.size);
}

}  // namespace

void define_full(OpRegistry& r) {
  r.op("full(int[] size, Scalar fill_value, *, dtype? dtype=None) -> Tensor", &FullAttrs::size,
       &FullAttrs::fill_value, &FullAttrs::dtype)
      .doc("A tensor of the given size whose elements all equal fill_value.")
      .infer(infer_full)
      .no_grad("it has no tensor inputs")
      .sbp(sbp::elementwise)
      .localize(holds_output_sizes<&FullAttrs::size>)
      .cost(copy_cost);
}

}  // namespace tw::ops

// cond: one of two regions, chosen by a predicate. What it takes and gives is said by its regions; see
// ir/control.h. Only traces make it: in eager mode tw.cond calls one of its functions.
#include "ir/registry.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_cond(InferContext&) { TW_FAIL(kInternal, "cond: only its regions know its outputs"); }

}  // namespace

void define_cond(OpRegistry& r) {
  r.op("cond(Tensor pred, Tensor[] operands) -> Tensor")
      .doc("What the region \"then\" makes of the operands where pred is true, else the region \"else\".")
      .infer(infer_cond)
      .numbers(0)
      .no_grad("its backward is traced with it, as another cond")
      .cost(copy_cost);
}

}  // namespace tw::ops

// loop: a region run again and again; see ir/control.h. Only traces make it: in eager mode tw.while_loop and
// tw.scan are loops of Python.
#include "ops/control/loop.h"

#include "ir/registry.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_loop(InferContext&) { TW_FAIL(kInternal, "loop: only its region knows its outputs"); }

}  // namespace

void define_loop(OpRegistry& r) {
  r.op("loop(Tensor? pred, Tensor? trips, Tensor[] carried, Tensor[] slices, Tensor[] captures, *, "
       "int length=-1, bool reverse=False, bool parts=False) -> Tensor",
       &LoopAttrs::length, &LoopAttrs::reverse, &LoopAttrs::parts)
      .doc("Runs its region while pred holds, trips times, or length times.")
      .infer(infer_loop)
      .numbers(0)
      .no_grad("its backward is traced with it, as another loop")
      .cost(copy_cost);
}

}  // namespace tw::ops

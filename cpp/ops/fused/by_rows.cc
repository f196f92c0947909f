// by_rows: a small graph, run on some rows after the other, so that what one op hands to the next stays in
// the cache. Passes make such nodes; session/row_program.h runs them.
#include "ops/fused/by_rows.h"

#include "ir/graph_text.h"
#include "ir/registry.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_by_rows(InferContext& c) {
  std::unique_ptr<Graph> body = parse_graph(c.attrs<ByRowsAttrs>().body);
  TW_CHECK(body->inputs.size() == c.inputs.size(), kValue, c.op, ": the body takes ", body->inputs.size(),
           " inputs, got ", c.inputs.size());
  for (size_t i = 0; i < c.inputs.size(); i++) {
    const ValueImpl &wanted = *body->inputs[i].value, &given = *c.inputs[i];
    TW_CHECK(given.dtype == wanted.dtype && given.sizes == wanted.sizes, kValue, c.op, ": input ", i,
             " must be ", type_text(wanted.dtype, wanted.sizes), ", got ",
             type_text(given.dtype, given.sizes));
  }
  size_t own = c.attrs<ByRowsAttrs>().over.size();
  TW_CHECK(own == body->outputs.size(), kValue, c.op, ": the body has ", body->outputs.size(),
           " outputs, but over has ", own, " items");
  for (const Value& output : body->outputs) c.output(output->dtype, output->sizes);
}

}  // namespace

void define_by_rows(OpRegistry& r) {
  r.op("by_rows(Tensor[] inputs, *, str body, int[] over) -> Tensor", &ByRowsAttrs::body, &ByRowsAttrs::over)
      .doc(
          "Runs the graph `body`, all of whose ops treat rows by themselves or sum over them, some rows at a "
          "time.")
      .infer(infer_by_rows)
      .no_grad("passes make it, after gradients are recorded")
      .sbp(sbp::broadcast_only)
      .order(ResultOrder::kLikeInputs)
      .cost(pointwise_cost<16>);
}

}  // namespace tw::ops

// Folding puts one number where a run would compute every element: they have to be equal bits.
#include <set>

#include "eager/dispatch.h"
#include "eager/tensor.h"
#include "ir/graph_text.h"
#include "passes/pass.h"
#include "test.h"

using namespace tw;

namespace {

// op(full, full, ...) over 67 elements, enough for a vector loop and its rest.
std::unique_ptr<ir::Graph> uniform_graph(const ir::OpDef& def, DType dtype, double number) {
  auto graph = std::make_unique<ir::Graph>();
  ir::GraphEmitter emitter(*graph);
  ir::Emitter* before = ir::Emitter::swap_current(&emitter);
  ir::Values inputs;
  for (const ir::Param& param : def.schema.params) {
    if (param.kind == ir::ParamKind::kAttr) continue;
    bool is_mask = param.name == "mask" || param.name == "condition";
    inputs.push_back(
        ir::op<"full">(IntList{67}, number + param.tensor_index, is_mask ? DType::kBool : dtype));
  }
  ir::Emitter::swap_current(before);
  ir::Node& node = graph->append(def, {inputs.begin(), inputs.size()}, {}, def.defaults());
  graph->outputs.push_back(node.outputs[0]);
  return graph;
}

std::string bytes_of(const ir::Graph& graph) {
  std::unordered_map<const ir::ValueImpl*, ir::Value> values;
  for (const auto& node : graph.nodes) {
    ir::Values args, results;
    for (const ir::Value& input : node->inputs) args.push_back(values.at(input.get()));
    ir::AttrBox attrs(node->def->attr_type, node->attrs.get());
    eager::dispatch(*node->def, {args.begin(), args.size()}, {}, attrs.get(), &results);
    values[node->outputs[0].get()] = results[0];
  }
  ir::Value dense = ir::op<"row_major">(values.at(graph.outputs[0].get()));
  const auto* data = static_cast<const char*>(eager::tensor_of(dense).data());
  return {data, data + dense->count() * size_of(dense->dtype)};
}

}  // namespace

TEST(a_folded_number_is_what_every_element_would_be) {
  eager::initialize();
  std::set<std::string> folded, different;
  for (const auto& def : ir::registry().all()) {
    if (!def->infer || def->dynamic_sizes || def->schema.has_lists || def->schema.tensor_count == 0 ||
        def->visible_outputs == 0)
      continue;
    for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kInt32, DType::kBool}) {
      for (double number : {0.3, -1.7, 0.0, 41.5}) {
        std::unique_ptr<ir::Graph> graph, plain;
        try {
          graph = uniform_graph(*def, dtype, number);
          plain = uniform_graph(*def, dtype, number);
        } catch (const Error&) {
          continue;
        }
        passes::find_pass("constant_folding")->run(*graph);
        if (graph->nodes.back()->def->schema.name != "expand") continue;
        folded.insert(def->schema.name);
        if (bytes_of(*graph) != bytes_of(*plain)) different.insert(def->schema.name);
      }
    }
  }
  CHECK_EQ(different, std::set<std::string>());
  CHECK_GT(folded.size(), 80);
}

// Graphs: their text, their checks, and the passes over them.
#include <pybind11/stl.h>

#include <map>

#include "ir/cost.h"
#include "ir/graph_text.h"
#include "ir/verify.h"
#include "native.h"
#include "passes/pass.h"
#include "planner/plan_graph.h"

namespace tw::py {

namespace pb = pybind11;

namespace {

std::map<std::string, int> op_counts(const ir::Graph& graph) {
  std::map<std::string, int> counts;
  for (const auto& node : graph.nodes) counts[node->def->schema.name]++;
  return counts;
}

void run_pass(ir::Graph& graph, const std::string& name) {
  const passes::Pass* pass = passes::find_pass(name);
  TW_CHECK(pass, kValue, "run_pass: the name of a pass is wanted, got ", name);
  passes::run_passes(graph, {pass, 1});
}

}  // namespace

void bind_graph(pb::module_& m) {
  pb::class_<ir::Graph, std::shared_ptr<ir::Graph>>(m, "Graph")
      .def_static("parse",
                  [](const std::string& text) { return std::shared_ptr<ir::Graph>(ir::parse_graph(text)); })
      .def("__str__", ir::print_graph)
      .def("verify", ir::verify)
      .def("simplify", passes::simplify)
      .def("run_pass", run_pass)
      .def("op_counts", op_counts)
      .def("node_costs", ir::node_costs)
      .def("plan", [](ir::Graph& graph) { return std::make_shared<plan::Plan>(planner::plan_graph(graph)); });
}

}  // namespace tw::py

// Graphs of global values cut up, and what this process has of them run as a program.
#include <pybind11/stl.h>

#include "ir/graph_text.h"
#include "native.h"
#include "session/global_graph.h"
#include "session/program.h"

namespace tw::py {

namespace pb = pybind11;

namespace {

using Parts = std::vector<std::pair<int, int64_t>>;  // which one of the whole, and the rank

Parts parts_of(const std::vector<passes::PartOf>& parts) {
  Parts list;
  for (const passes::PartOf& part : parts) list.emplace_back(part.index, part.rank);
  return list;
}

// The process's own graph, and which parts its inputs, variables and outputs are. `graph` gets its layouts.
std::tuple<std::shared_ptr<ir::Graph>, Parts, Parts, Parts> lay_out(ir::Graph& graph) {
  passes::ProcessGraph cut = session::lay_out(graph);
  Parts inputs = parts_of(cut.inputs), variables = parts_of(cut.variables), outputs = parts_of(cut.outputs);
  return {std::shared_ptr<ir::Graph>(std::move(cut.graph)), std::move(inputs), std::move(variables),
          std::move(outputs)};
}

std::unique_ptr<session::Program> make(ir::Graph& graph, std::vector<eager::Tensor> variables) {
  return std::make_unique<session::Program>(ir::parse_graph(ir::print_graph(graph)), std::move(variables),
                                            std::vector<eager::Tensor>());
}

}  // namespace

void bind_parts(pb::module_& m) {
  m.def("lay_out", lay_out);
  pb::class_<session::Program>(m, "PartProgram")
      .def(pb::init(&make))
      .def("run", [](session::Program& program,
                     const std::vector<eager::Tensor>& inputs) { return program.run(inputs, {}); })
      .def("set_steps_in_flight", &session::Program::set_steps_in_flight)
      .def("plan", [](session::Program& program) { return std::make_shared<plan::Plan>(program.plan()); })
      .def("arena_bytes", &session::Program::arena_bytes);
}

}  // namespace tw::py

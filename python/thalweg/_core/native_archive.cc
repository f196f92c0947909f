// Saved graphs: what thalweg.jit.archive drives.
#include <pybind11/stl.h>

#include "ir/graph_text.h"
#include "native.h"
#include "passes/partition/partition.h"
#include "session/archive_places.h"
#include "session/formula.h"
#include "session/loaded_program.h"

namespace tw::py {

namespace pb = pybind11;
using eager::Tensor;

namespace {

pb::object object_of(const Scalar& number) {
  if (number.kind() == DTypeKind::kBool) return pb::bool_(number.to_bool());
  if (number.kind() == DTypeKind::kInt) return pb::int_(number.to_int());
  return pb::float_(number.to_double());
}

// A trace and the values that the symbols had in it.
using SizedTrace = std::pair<eager::Tracer*, std::vector<int64_t>>;

std::vector<session::SizedGraph> graphs_of(const std::vector<SizedTrace>& traces) {
  std::vector<session::SizedGraph> graphs;
  for (const auto& [tracer, values] : traces)
    graphs.push_back({session::take_archive(*tracer, false).graph, values});
  return graphs;
}

// Symbols are (name, least, most, [(input, dim)..]); without any, `others` and `checks` are empty.
using Symbol = std::tuple<std::string, int64_t, int64_t, std::vector<std::pair<int, int>>>;

void vary(session::Archive& archive, const std::vector<Symbol>& symbols, std::vector<int64_t> values,
          const std::vector<SizedTrace>& others, const std::vector<SizedTrace>& checks) {
  std::vector<session::SizeSymbol> converted;
  for (const auto& [name, least, most, places] : symbols) {
    converted.push_back({name, least, most, {}});
    for (auto [input, dim] : places) converted.back().places.push_back({input, dim});
  }
  session::fit_archive(archive, std::move(converted), std::move(values), graphs_of(others),
                       graphs_of(checks));
}

// Without a path, another process writes what this one has given its parts of.
void save(const std::string& path, eager::Tracer& tracer, const std::string& numbers,
          const std::string& results, std::vector<std::string> result_names,
          const std::vector<Symbol>& symbols, std::vector<int64_t> values,
          const std::vector<SizedTrace>& others, const std::vector<SizedTrace>& checks,
          std::vector<std::string> places) {
  session::Archive archive = session::take_archive(tracer, symbols.empty());
  if (!symbols.empty()) vary(archive, symbols, std::move(values), others, checks);
  archive.numbers = session::Numbers::parse(numbers);
  archive.results = results;
  archive.result_names = std::move(result_names);
  archive.places = std::move(places);
  if (!path.empty()) session::save_archive(path, archive);
}

std::vector<Tensor> run(session::LoadedProgram& program, const std::vector<Tensor>& inputs,
                        const pb::dict& numbers) {
  std::vector<std::pair<std::string, Scalar>> given;
  for (auto [name, value] : numbers) given.emplace_back(name.cast<std::string>(), number_of(value));
  return program.run(inputs, given);
}

std::vector<std::string> names_of(const std::vector<ir::Leaf>& leaves) {
  std::vector<std::string> names;
  for (const ir::Leaf& leaf : leaves) names.push_back(leaf.name);
  return names;
}

pb::dict numbers_of(session::LoadedProgram& program) {
  pb::dict numbers;
  for (size_t i = 0; i < program.numbers().names.size(); i++)
    numbers[pb::str(program.numbers().names[i])] = object_of(program.numbers().values[i]);
  return numbers;
}

pb::list types_of(session::LoadedProgram& program) {
  pb::list types;
  const std::vector<ir::Leaf>& inputs = program.inputs();
  for (size_t i = 0; i < inputs.size(); i++) {
    const ir::GraphValue& value = *inputs[i].value;
    pb::tuple shape(value.sizes.size());
    for (size_t dim = 0; dim < value.sizes.size(); dim++) {
      const std::string& name = program.sizes().name_of(static_cast<int>(i), static_cast<int>(dim));
      shape[dim] = name.empty() ? pb::object(pb::int_(value.sizes[dim])) : pb::object(pb::str(name));
    }
    types.append(pb::make_tuple(value.dtype, shape));
  }
  return types;
}

pb::dict variables_of(session::LoadedProgram& program) {
  pb::dict variables;
  for (size_t i = 0; i < program.variables().size(); i++)
    variables[pb::str(program.program().graph().variables[i].name)] = program.variables()[i];
  return variables;
}

}  // namespace

void bind_archive(pb::module_& m) {
  m.def("finish_trace", &session::finish_trace);
  m.def("trace_keeps_tensors", [](eager::Tracer& tracer) { return !tracer.escaped().empty(); });
  m.def("save_archive", save);
  m.def("places_of", &session::places_of);
  m.def("trace_is_global", [](eager::Tracer& tracer) { return !passes::ranks_of(tracer.graph()).empty(); });
  m.def("evaluate_formula", [](const std::string& formula, const pb::list& numbers) {
    std::vector<Scalar> values;
    for (pb::handle number : numbers) values.push_back(number_of(number));
    return object_of(session::evaluate_formula(formula, values));
  });

  pb::class_<session::LoadedProgram>(m, "LoadedProgram", "A saved graph that runs again.")
      .def(pb::init([](const std::string& path, const pb::object& type, const std::vector<int64_t>& shape,
                       const std::vector<int64_t>& ranks, const std::string& device) {
        if (type.is_none()) return session::LoadedProgram::load(path, nullptr, device::parse_device(device));
        return session::LoadedProgram::load(
            path, sbp::placement(type.cast<std::string>(), Dims(shape.begin(), shape.end()), ranks));
      }))
      .def("run", run)
      .def("graph_text",
           [](session::LoadedProgram& program) { return ir::print_graph(program.program().graph()); })
      .def("arena_bytes",
           [](session::LoadedProgram& program) { return program.program().program().arena_bytes(); })
      .def_property_readonly("input_names",
                             [](session::LoadedProgram& program) { return names_of(program.inputs()); })
      .def_property_readonly("input_types", types_of)
      .def_property_readonly("numbers", numbers_of)
      .def_property_readonly("variables", variables_of)
      .def_property_readonly("result_names", &session::LoadedProgram::result_names)
      .def_property_readonly("results", &session::LoadedProgram::results);
}

}  // namespace tw::py

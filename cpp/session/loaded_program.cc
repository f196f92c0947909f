#include "session/loaded_program.h"

#include <algorithm>

#include "base/memory_order.h"
#include "eager/global.h"
#include "eager/placing.h"
#include "eager/result_order.h"
#include "ir/graph_text.h"
#include "session/archive_places.h"
#include "session/formula.h"

namespace tw::session {

using eager::Tensor;

namespace {

constexpr size_t kKeptPrograms = 8;

void run_elsewhere(Archive& archive, device::Device device) {
  TW_CHECK(passes::ranks_of(*archive.graph).empty(), kNotImplemented,
           "it has global tensors, which cannot lie on ", device);
  archive.graph->device = device::name_of(device);
  for (Tensor& variable : archive.variables) variable = eager::to_device(variable, device);
}

}  // namespace

std::unique_ptr<LoadedProgram> LoadedProgram::load(const std::string& path,
                                                   const sbp::PlacementRef& placement,
                                                   device::Device device) {
  Archive archive = load_archive(path);
  try {
    if (placement) move_archive(archive, placement);
    lay_out_tensors(archive);
    if (device.type != device::DeviceType::kCpu) run_elsewhere(archive, device);
    return std::make_unique<LoadedProgram>(path, std::move(archive));
  } catch (const Error& error) {
    ErrorKind kind = error.kind() == ErrorKind::kInternal ? ErrorKind::kValue : error.kind();
    throw_error(kind, cat("load_graph: ", path, ": ", error.what()));
  }
}

LoadedProgram::LoadedProgram(const std::string& path, Archive archive)
    : path_(path),
      inputs_(archive.graph->inputs),
      sizes_(std::move(archive.sizes)),
      numbers_(std::move(archive.numbers)),
      results_(std::move(archive.results)),
      result_names_(std::move(archive.result_names)),
      places_(std::move(archive.places)) {
  if (sizes_.empty()) {
    programs_.push_back(
        {{}, planned(std::move(archive.graph), std::move(archive.variables), std::move(archive.constants))});
    return;
  }
  graph_ = std::move(archive.graph);
  variables_ = std::move(archive.variables);
  constants_ = std::move(archive.constants);
  std::vector<const Dims*> saved;
  for (const ir::Leaf& input : inputs_) saved.push_back(&input.value->sizes);
  bind(sizes_.values_of(saved, inputs_, ""));
}

std::unique_ptr<LogicalProgram> LoadedProgram::planned(std::unique_ptr<ir::Graph> graph,
                                                       std::vector<Tensor> variables,
                                                       std::vector<Tensor> constants) const {
  LogicalLeaves leaves{std::move(variables), std::move(constants), {}, {}, {}, parse_places(places_)};
  for (const ir::Leaf& input : graph->inputs) {
    leaves.input_strides.push_back(contiguous_strides(input.value->sizes));
    leaves.global_inputs.push_back(input.value->layout != nullptr);
  }
  return std::make_unique<LogicalProgram>(std::move(graph), std::move(leaves), CompileOptions{});
}

void LoadedProgram::bind(std::vector<int64_t> values) {
  auto program = planned(bind_sizes(*graph_, sizes_, values), variables_, constants_);
  programs_.insert(programs_.begin(), {std::move(values), std::move(program)});
  if (programs_.size() > kKeptPrograms) programs_.pop_back();
}

void LoadedProgram::check_types(std::span<const Tensor> inputs) const {
  TW_CHECK(inputs.size() == inputs_.size(), kValue, path_, ": ", inputs_.size(), " inputs are wanted, got ",
           inputs.size());
  for (size_t i = 0; i < inputs.size(); i++) {
    const int number = static_cast<int>(i);
    const Dims &wanted = inputs_[i].value->sizes, &got = inputs[i]->sizes;
    bool fits = inputs[i]->dtype == inputs_[i].value->dtype && got.size() == wanted.size();
    for (size_t dim = 0; fits && dim < wanted.size(); dim++)
      fits = got[dim] == wanted[dim] || !sizes_.name_of(number, static_cast<int>(dim)).empty();
    TW_CHECK(fits, kValue, path_, ": input \"", inputs_[i].name, "\" must be ",
             sizes_.type_text(inputs_, number), ", got ", ir::type_text(inputs[i]->dtype, got));
    const sbp::LayoutRef& layout = inputs_[i].value->layout;
    TW_CHECK(!layout == !inputs[i]->global, kPlacement, path_, ": input \"", inputs_[i].name, "\" must be ",
             layout ? cat("global, as on ", *layout) : std::string("local"), ", got ", where_is(*inputs[i]));
  }
}

LogicalProgram& LoadedProgram::program_for(std::span<const Tensor> inputs) {
  if (sizes_.empty()) return program();
  std::vector<const Dims*> given;
  for (const Tensor& input : inputs) given.push_back(&input->sizes);
  std::vector<int64_t> values = sizes_.values_of(given, inputs_, path_ + ": ");
  auto known = std::find_if(programs_.begin(), programs_.end(),
                            [&](const Bound& bound) { return bound.values == values; });
  if (known == programs_.end())
    bind(std::move(values));
  else
    std::rotate(programs_.begin(), known, known + 1);
  return program();
}

std::vector<Tensor> LoadedProgram::run(std::span<const Tensor> inputs,
                                       std::span<const std::pair<std::string, Scalar>> given) {
  check_types(inputs);
  std::vector<Scalar> now = numbers_.values;
  for (const auto& [name, value] : given) {
    auto at = std::find(numbers_.names.begin(), numbers_.names.end(), name);
    TW_CHECK(at != numbers_.names.end(), kValue, path_, ": there is no number \"", name, "\"");
    now[at - numbers_.names.begin()] = value;
  }
  numbers_.check(now);
  std::vector<Scalar> updated = numbers_.values;
  for (const Numbers::Update& update : numbers_.updates)
    updated[update.number] = evaluate_formula(update.formula, now);
  std::vector<Tensor> outputs = program_for(inputs).run(inputs, numbers_.of_graph(now));
  numbers_.values = std::move(updated);
  for (Tensor& output : outputs)
    if (!output->global && !output->contiguous) output = eager::row_major_copy(output);
  return outputs;
}

}  // namespace tw::session

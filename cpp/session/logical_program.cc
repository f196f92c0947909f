#include "session/logical_program.h"

#include <algorithm>

#include "base/memory_order.h"
#include "comm/world.h"
#include "eager/global.h"
#include "eager/modes.h"
#include "ir/emitter.h"
#include "session/global_graph.h"

namespace tw::session {

using eager::Tensor;

namespace {

// Which of the shards of a tensor that lies on a placement belongs to a rank of this process.
int shard_number(const sbp::Placement& placement, int64_t rank) {
  const auto& positions = eager::addressable(placement).positions;
  return static_cast<int>(std::ranges::find(positions, placement.position_of(rank)) - positions.begin());
}

Tensor row_major(const Tensor& part) {
  if (part->contiguous) return part;
  eager::GradModeGuard no_grad(false);
  eager::DeviceGuard device(part->device());
  return eager::as_tensor(ir::op<"row_major">(ir::Value(part)));
}

}  // namespace

std::vector<sbp::PlacementRef> placements_of(const std::vector<ResultPlace>& results) {
  std::vector<sbp::PlacementRef> placements;
  for (const ResultPlace& result : results) placements.push_back(result.placement);
  return placements;
}

LogicalProgram::LogicalProgram(std::unique_ptr<ir::Graph> graph, LogicalLeaves leaves, CompileOptions options,
                               bool decided)
    : leaves_(std::move(leaves)), world_version_(comm::world_version()) {
  if (passes::ranks_of(*graph).empty()) {
    if (const device::Device runs_on = device::parse_device(graph->device);
        runs_on.type != device::DeviceType::kCpu)
      for (const ResultPlace& result : leaves_.results)
        options.output_devices.push_back(result.device.value_or(runs_on));
    program_ = std::make_unique<Program>(std::move(graph), std::move(leaves_.variables),
                                         std::move(leaves_.constants), std::move(leaves_.input_strides),
                                         std::move(leaves_.bound), options);
    return;
  }
  graph->device = device_of(*graph);
  if (!decided) decide_layouts(*graph, placements_of(leaves_.results));
  whole_ = std::move(graph);
  cut_ = cut_out(*whole_);
  TW_CHECK(!cut_.ranks.empty(), kPlacement, whole_->name, ": this process has no rank of its placements");
  // GPUs do not see each other's memory, nor that of the CPU: each is brought its own.
  if (whole_->device == "cpu")
    share_local_leaves(
        cut_, [&](int i) { return !leaves_.global_inputs[i]; },
        [&](int i) {
          return leaves_.variables[i] ? !leaves_.variables[i]->global : !whole_->variables[i].value->layout;
        });
  for (const passes::PartOf& one : cut_.inputs)
    TW_CHECK(one.index >= 0, kInternal, whole_->name, ": rank ", one.rank,
             " is to have a part that is not known");
  input_parts_ = parts_of(whole_->inputs, cut_.inputs);
  variable_parts_ = parts_of(whole_->variables, cut_.variables);
  find_results();
  assigned_.resize(whole_->variables.size());
  for (const ir::Assignment& one : whole_->assignments) assigned_[one.variable] = true;
  std::vector<Tensor> variables, constants;
  for (const Part& part : variable_parts_) variables.push_back(part.of(leaves_.variables[part.index]));
  for (const passes::PartOf& one : cut_.constants) constants.push_back(leaves_.constants[one.index]);
  std::vector<Dims> strides;
  for (size_t i = 0; i < cut_.inputs.size(); i++) {
    const int index = cut_.inputs[i].index;
    strides.push_back(leaves_.global_inputs[index] ? contiguous_strides(cut_.graph->inputs[i].value->sizes)
                                                   : leaves_.input_strides[index]);
  }
  std::vector<eager::Bound> bound;
  bind_parts(&bound);
  options.output_devices = devices();
  program_ = std::make_unique<Program>(std::move(cut_.graph), std::move(variables), std::move(constants),
                                       std::move(strides), std::move(bound), options);
}

const Tensor& LogicalProgram::Part::of(const Tensor& tensor) const {
  return tensor && tensor->global ? tensor->global->shards[shard] : tensor;
}

std::vector<LogicalProgram::Part> LogicalProgram::parts_of(const std::vector<ir::Leaf>& leaves,
                                                           const std::vector<passes::PartOf>& cut) {
  std::vector<Part> parts;
  for (const passes::PartOf& one : cut) {
    const sbp::LayoutRef& layout = leaves[one.index].value->layout;
    parts.push_back({one.index, layout ? shard_number(*layout->placement, one.rank) : 0});
  }
  return parts;
}

// Layouts that give every device the same part go by the name that was decided.
void LogicalProgram::find_results() {
  for (size_t i = 0; i < whole_->outputs.size(); i++) {
    const ir::GraphValue& value = ir::graph_value(whole_->outputs[i]);
    sbp::LayoutRef layout = value.layout;
    if (i < leaves_.results.size()) {
      const ResultPlace& place = leaves_.results[i];
      TW_CHECK(!place.layout || sbp::same_parts(*place.layout, *layout, value.sizes), kInternal, whole_->name,
               ": result ", i, " should lie as ", *place.layout, ", but lies as ", *layout);
      if (!place.placement || place.layout) layout = place.layout;
    }
    results_.push_back({value.sizes, value.dtype, layout, {}});
  }
  std::vector<int> order(cut_.outputs.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = static_cast<int>(i);
  std::ranges::stable_sort(order, {}, [&](int i) -> int64_t {
    const passes::PartOf& one = cut_.outputs[i];
    const sbp::LayoutRef& layout = results_[one.index].layout;
    return layout ? layout->placement->position_of(one.rank) : 0;
  });
  for (int i : order) results_[cut_.outputs[i].index].parts.push_back(i);
}

// The program finds the parts of bound arguments in a list of these alone.
void LogicalProgram::bind_parts(std::vector<eager::Bound>* bound) {
  for (const eager::Bound& one : leaves_.bound)
    for (size_t v = 0; v < cut_.variables.size(); v++) {
      if (cut_.variables[v].index != one.variable) continue;
      bound->push_back({static_cast<int>(v), static_cast<int>(bound_parts_.size()), one.whole});
      bound_parts_.push_back({one.argument, variable_parts_[v].shard});
    }
}

std::vector<device::Device> LogicalProgram::devices() const {
  std::vector<device::Device> devices;
  for (const passes::PartOf& one : cut_.outputs) {
    const sbp::LayoutRef& layout = results_[one.index].layout;
    const bool said = one.index < static_cast<int>(leaves_.results.size());
    if (layout)
      devices.push_back(
          comm::world().device_of(static_cast<int>(one.rank), eager::device_type_of(*layout->placement)));
    else if (whole_->device == "cpu")
      devices.push_back(eager::modes().device);
    else
      devices.push_back((said ? leaves_.results[one.index].device : std::nullopt)
                            .value_or(device::parse_device(whole_->device)));
  }
  return devices;
}

std::vector<Tensor> LogicalProgram::parts_of_inputs(std::span<const Tensor> inputs) const {
  std::vector<Tensor> laid(inputs.begin(), inputs.end()), parts;
  for (size_t i = 0; i < laid.size(); i++) {
    const sbp::LayoutRef& wanted = whole_->inputs[i].value->layout;
    if (laid[i]->global && wanted && layout_of(*laid[i]) != wanted) laid[i] = box(*laid[i], wanted);
  }
  for (const Part& one : input_parts_) {
    const Tensor& part = one.of(laid[one.index]);
    parts.push_back(laid[one.index]->global ? row_major(part) : part);
  }
  return parts;
}

std::vector<Tensor> LogicalProgram::given_parts(std::span<const Tensor> given) const {
  std::vector<Tensor> parts;
  if (given.empty()) return parts;
  parts.resize(cut_.outputs.size());
  for (size_t i = 0; i < given.size(); i++) {
    if (!given[i]) continue;
    for (size_t k = 0; k < results_[i].parts.size(); k++)
      parts[results_[i].parts[k]] = results_[i].layout ? given[i]->global->shards[k] : given[i];
  }
  return parts;
}

std::vector<Tensor> LogicalProgram::whole_results(std::vector<Tensor> parts) const {
  std::vector<Tensor> wholes;
  for (const Result& result : results_) {
    if (!result.layout) {
      wholes.push_back(parts[result.parts.at(0)]);
      continue;
    }
    std::vector<Tensor> shards;
    for (int i : result.parts) shards.push_back(row_major(parts[i]));
    wholes.push_back(eager::wrap_shards(result.sizes, result.dtype, result.layout, std::move(shards)));
  }
  return wholes;
}

std::vector<Tensor> LogicalProgram::run(std::span<const Tensor> inputs, std::span<const Scalar> numbers,
                                        const RunOptions& options) {
  if (!whole_) return program_->run(inputs, numbers, options);
  TW_CHECK(world_version_ == comm::world_version(), kPlacement, whole_->name,
           ": the devices of the job have changed since it was traced");
  std::vector<Tensor> bound, given = given_parts(options.given);
  for (const Part& one : bound_parts_) {
    bound.push_back(one.of(options.arguments[one.index]));
    TW_CHECK(bound.back()->contiguous, kNotImplemented, whole_->name, ": argument ", one.index,
             ", which it writes to in place, must have parts in row-major order; pass contiguous() of it");
  }
  std::vector<Tensor> results =
      whole_results(program_->run(parts_of_inputs(inputs), numbers, {bound, options.draws, given}));
  for (size_t v = 0; v < assigned_.size(); v++)
    if (const Tensor& variable = leaves_.variables[v]; assigned_[v] && variable && variable->global)
      variable->storage->version++;
  for (const eager::Bound& one : leaves_.bound)
    if (assigned_[one.variable] && options.arguments[one.argument]->global)
      options.arguments[one.argument]->storage->version++;
  return results;
}

bool LogicalProgram::variables_fit() const {
  if (!program_->variables_fit()) return false;
  if (!whole_) return true;
  if (world_version_ != comm::world_version()) return false;
  for (size_t v = 0; v < variable_parts_.size(); v++) {
    const Tensor& variable = leaves_.variables[variable_parts_[v].index];
    if (!variable) continue;
    if (variable->global && layout_of(*variable) != whole_->variables[variable_parts_[v].index].value->layout)
      return false;
    if (variable_parts_[v].of(variable) != program_->variables()[v]) return false;
  }
  return true;
}

bool LogicalProgram::output_fits(int output, const eager::TensorImpl& tensor) const {
  if (!whole_) return program_->output_fits(output, tensor);
  const Result& result = results_[output];
  if (!result.layout) return program_->output_fits(result.parts.at(0), tensor);
  if (!tensor.global || layout_of(tensor) != result.layout || tensor.sizes != result.sizes ||
      tensor.use_count() != 1 || tensor.storage->use_count() != 1 || tensor.needs_grad())
    return false;
  for (size_t k = 0; k < result.parts.size(); k++)
    if (!program_->output_fits(result.parts[k], *tensor.global->shards[k])) return false;
  return true;
}

const Dims& LogicalProgram::output_strides(int output) const {
  return program_->output_strides(whole_ ? results_[output].parts.at(0) : output);
}

}  // namespace tw::session

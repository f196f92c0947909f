#include "session/program.h"

#include "base/memory_order.h"
#include "eager/dispatch.h"
#include "eager/generator.h"
#include "eager/modes.h"
#include "passes/pass.h"
#include "planner/plan_graph.h"
#include "session/kernels.h"

namespace tw::session {

namespace {

// Results of this size and less that depend on nothing are computed once, when the program is made.
constexpr int64_t kLiteralBytes = 4096;

bool is_literal(const ir::Node& node) {
  if (!node.inputs.empty() || node.outputs.size() != 1 || !node.lifted.empty()) return false;
  const ir::GraphValue& value = *node.outputs[0];
  return node.def->random_key_offset < 0 && value.count() * size_of(value.dtype) <= kLiteralBytes;
}

}  // namespace

Program::Program(std::unique_ptr<ir::Graph> graph, std::vector<eager::Tensor> variables,
                 std::vector<eager::Tensor> constants, std::vector<Dims> input_strides,
                 std::vector<eager::Bound> bound)
    : graph_(std::move(graph)),
      variables_(std::move(variables)),
      constants_(std::move(constants)),
      input_strides_(std::move(input_strides)),
      bound_(std::move(bound)) {
  for (size_t i = input_strides_.size(); i < graph_->inputs.size(); i++)
    input_strides_.push_back(contiguous_strides(graph_->inputs[i].value->sizes));
  assigned_.resize(variables_.size());
  for (const ir::Assignment& assignment : graph_->assignments) assigned_[assignment.variable] = true;
  passes::simplify(*graph_);
  fold_literals();
  passes::run_passes(*graph_, passes::fuse_passes());
  GraphKernels kernels(*graph_);
  executable_ = std::make_unique<runtime::Executable>(planner::plan_graph(*graph_, input_strides_), kernels);
  for (size_t i = 0; i < variables_.size(); i++) {
    const ir::GraphValue& value = *graph_->variables[i].value;
    variable_bytes_.push_back(variables_[i] ? variables_[i]->storage->size_bytes()
                                            : static_cast<size_t>(value.count() * size_of(value.dtype)));
  }
  for (const eager::Tensor& constant : constants_) constant_data_.push_back(constant->storage->data());
  variable_data_.resize(variables_.size());
  input_data_.resize(graph_->inputs.size());
  output_data_.resize(graph_->outputs.size());
  find_output_strides();
}

Program::~Program() = default;

// The plan says in which order the dims of an output lie: its value that owns the output's bytes. Where that
// has another shape, both are in row-major order.
void Program::find_output_strides() {
  for (const ir::Value& output : graph_->outputs)
    output_strides_.push_back(contiguous_strides(output->sizes));
  const plan::Plan& plan = executable_->plan();
  for (const plan::Value& value : plan.values) {
    if (value.segment < 0 || value.storage >= 0) continue;
    const plan::Segment& segment = plan.segments[value.segment];
    if (segment.kind == plan::SegmentKind::kOutput && value.sizes == graph_->outputs[segment.index]->sizes)
      output_strides_[segment.index] = value.strides;
  }
}

void Program::fold_literals() {
  eager::TracerPause pause;
  std::vector<std::unique_ptr<ir::Node>> kept;
  for (auto& node : graph_->nodes) {
    if (!is_literal(*node)) {
      kept.push_back(std::move(node));
      continue;
    }
    const ir::GraphRef& value = node->outputs[0];
    eager::Tensor tensor = eager::empty(value->sizes, value->dtype);
    ir::Meta meta{value->dtype, value->sizes};
    eager::launch(*node->def, {},
                  node->starts.empty() ? std::span<const int>()
                                       : std::span<const int>(node->starts.data(), node->starts.size()),
                  node->attrs.get(), {&meta, 1}, {&tensor, 1});
    value->node = nullptr;
    graph_->constants.push_back({cat(node->def->name(), graph_->constants.size()), value});
    constants_.push_back(std::move(tensor));
  }
  graph_->nodes = std::move(kept);
}

bool Program::variables_fit() const {
  for (size_t i = 0; i < variables_.size(); i++) {
    if (!variables_[i]) continue;
    const eager::Storage& storage = *variables_[i]->storage;
    if (storage.symbolic() || storage.size_bytes() != variable_bytes_[i]) return false;
  }
  return true;
}

void* Program::variable_data(size_t i) const {
  const eager::Storage& storage = *variables_[i]->storage;
  TW_CHECK(storage.size_bytes() == variable_bytes_[i], kRuntime,
           "a compiled function: ", graph_->variables[i].name,
           " has other memory than when it was traced: ", storage.size_bytes(), " bytes, not ",
           variable_bytes_[i]);
  return storage.data();
}

std::vector<eager::Tensor> Program::run(std::span<const eager::Tensor> inputs,
                                        std::span<const Scalar> numbers,
                                        std::span<const eager::Tensor> arguments) {
  TW_CHECK(inputs.size() == input_data_.size(), kValue, graph_->name, ": ", input_data_.size(),
           " tensors are wanted, got ", inputs.size());
  for (size_t i = 0; i < inputs.size(); i++) {
    const ir::GraphValue& wanted = *graph_->inputs[i].value;
    TW_CHECK(inputs[i]->dtype == wanted.dtype && inputs[i]->sizes == wanted.sizes &&
                 same_walk(wanted.sizes, inputs[i]->strides, input_strides_[i]),
             kValue, graph_->name, ": input ", graph_->inputs[i].name, " must be a ", wanted.dtype,
             " tensor of shape ", wanted.sizes, " and strides ", input_strides_[i], ", got ",
             inputs[i]->dtype, " of shape ", inputs[i]->sizes, " and strides ", inputs[i]->strides);
    input_data_[i] = inputs[i]->data();
  }
  for (size_t i = 0; i < variables_.size(); i++)
    if (variables_[i]) variable_data_[i] = variable_data(i);
  for (const eager::Bound& bound : bound_) {
    const eager::Tensor& argument = arguments[bound.argument];
    variable_data_[bound.variable] = bound.whole ? argument->storage->data() : argument->data();
  }
  std::vector<eager::Tensor> outputs;
  outputs.reserve(output_data_.size());
  for (size_t i = 0; i < output_data_.size(); i++) {
    const ir::ValueImpl& output = *graph_->outputs[i];
    outputs.push_back(eager::empty(output.sizes, output.dtype));
    if (output_strides_[i] != outputs[i]->strides)
      outputs[i]->set_geometry({output.sizes, output_strides_[i], 0});
    output_data_[i] = outputs[i]->data();
  }
  PhiloxKey first = eager::default_generator().next_draws(static_cast<uint64_t>(graph_->draws));
  runtime::Bindings bindings{input_data_, variable_data_, constant_data_, output_data_,
                             numbers,     first.seed,     first.draw};
  {
    eager::Unlocked unlocked;
    executable_->run(bindings);
  }
  for (const ir::Assignment& assignment : graph_->assignments)
    if (const eager::Tensor& variable = variables_[assignment.variable]) variable->storage->version++;
  for (const eager::Bound& bound : bound_)
    if (assigned_[bound.variable]) arguments[bound.argument]->storage->version++;
  return outputs;
}

}  // namespace tw::session

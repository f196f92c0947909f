#include "session/program.h"

#include <algorithm>
#include <optional>

#include "base/memory_order.h"
#include "comm/world.h"
#include "eager/batch_part.h"
#include "eager/dispatch.h"
#include "eager/generator.h"
#include "eager/modes.h"
#include "eager/placing.h"
#include "ir/emitter.h"
#include "ir/layouts.h"
#include "passes/partition/partition.h"
#include "passes/pass.h"
#include "planner/plan_graph.h"
#include "planner/separate.h"
#include "session/fit_memory.h"
#include "session/kernels.h"

namespace tw::session {

namespace {

// Results of this size and less that depend on nothing are computed once, when the program is made.
constexpr int64_t kLiteralBytes = 4096;

// A run of a program. The addresses and the numbers are its own.
class QueuedStep final : public QueuedWork {
 public:
  runtime::Executable* executable = nullptr;
  std::shared_ptr<Agreement> agreement;
  std::vector<void*> inputs, variables, outputs;
  std::span<void* const> constants;
  std::vector<Scalar> numbers;
  Draws draws;
  std::vector<Ref<eager::Storage>> kept;  // the memory

 protected:
  void run() override {
    if (agreement) agreement->begin_step();
    executable->run(
        {inputs, variables, constants, outputs, numbers, draws.first.seed, draws.first.draw, draws.keys});
  }
  void abandon(const std::exception_ptr& cause) override {
    if (agreement) agreement->give_up(runtime::reason_of(cause));
  }
  void release() override { kept.clear(); }
  const void* owner() const override { return executable; }
};

// All of a tensor's memory, as a vector.
eager::Tensor whole_of(const eager::TensorImpl& tensor) {
  const auto count = static_cast<int64_t>(tensor.storage->size_bytes()) / size_of(tensor.dtype);
  return eager::alias(tensor, {{count}, {1}, 0});
}

// Asking the world begins the job, which only graphs that have to do with one may.
int64_t first_rank_of(const ir::Graph& graph) {
  bool any =
      std::ranges::any_of(graph.nodes, [](const auto& node) { return ir::is_boxing_part(*node->def); });
  any |= !graph.ranks.empty();
  return any ? comm::world().first_rank() : 0;
}

// What a process gets in a boxing to which it gives nothing is none.
bool is_literal(const ir::Node& node) {
  if (ir::is_boxing_part(*node.def) || !node.inputs.empty() || node.outputs.size() != 1 ||
      !node.lifted.empty())
    return false;
  const ir::GraphValue& value = *node.outputs[0];
  return node.def->random_key_offset < 0 && value.count() * size_of(value.dtype) <= kLiteralBytes;
}

}  // namespace

// While it lives, what is made and launched is on the program's device.
class Program::OnDevice {
 public:
  explicit OnDevice(const Program& program) {
    if (!program.elsewhere()) return;
    device_.emplace(program.device_);
    current_.emplace();
  }

 private:
  std::optional<eager::DeviceGuard> device_;
  std::optional<eager::CurrentDevice> current_;
};

Program::Program(std::unique_ptr<ir::Graph> graph, std::vector<eager::Tensor> variables,
                 std::vector<eager::Tensor> constants, std::vector<Dims> input_strides,
                 std::vector<eager::Bound> bound, const CompileOptions& options)
    : graph_(std::move(graph)),
      variables_(std::move(variables)),
      constants_(std::move(constants)),
      input_strides_(std::move(input_strides)),
      bound_(std::move(bound)),
      output_devices_(options.output_devices),
      device_(device::parse_device(graph_->device)) {
  TW_CHECK(passes::ranks_of(*graph_).empty(), kNotImplemented, graph_->name,
           ": its tensors are global; a program is of the parts that one process has");
  for (size_t i = input_strides_.size(); i < graph_->inputs.size(); i++)
    input_strides_.push_back(contiguous_strides(graph_->inputs[i].value->sizes));
  assigned_.resize(variables_.size());
  for (const ir::Assignment& assignment : graph_->assignments) assigned_[assignment.variable] = true;
  OnDevice on(*this);
  passes::simplify(*graph_);
  passes::run_passes(*graph_, passes::final_passes());
  planner::separate_devices(*graph_);
  fold_literals();
  if (options.memory_budget_bytes < 0) recompute_cheap(*graph_, input_strides_);
  passes::run_passes(*graph_, passes::fuse_passes());
  plan::Plan plan = make_plan(options);
  GraphKernels kernels(*graph_);
  executable_ = std::make_unique<runtime::Executable>(std::move(plan), kernels);
  agreement_ = kernels.known_agreement();
  find_devices();
  for (const ir::Assignment& assignment : graph_->assignments)
    check_written(assignment.variable, variables_[assignment.variable]);
  bring_constants();
  observer_ = std::make_unique<PlanObserver>(executable_->plan());
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

Program::~Program() {
  if (steps_in_flight_ > 0) WorkQueue::steps().wait_for(executable_.get());
}

// The plan says it of its segments.
void Program::find_devices() {
  devices_.inputs.resize(graph_->inputs.size());
  devices_.variables.resize(graph_->variables.size());
  devices_.constants.resize(graph_->constants.size());
  devices_.outputs.resize(graph_->outputs.size());
  std::vector<device::Device>* by_kind[] = {nullptr, &devices_.inputs, &devices_.variables,
                                            &devices_.constants, &devices_.outputs};
  for (const plan::Segment& segment : plan().segments)
    if (segment.kind != plan::SegmentKind::kArena)
      (*by_kind[static_cast<int>(segment.kind)])[segment.index] =
          device::parse_device(plan().devices[segment.device]);
}

void Program::bring_constants() {
  for (size_t i = 0; elsewhere() && i < constants_.size(); i++)
    constants_[i] = eager::to_device(whole_of(*constants_[i]), devices_.constants[i]);
}

void Program::check_written(size_t variable, const eager::Tensor& tensor) const {
  const device::Device device = devices_.variables[variable];
  TW_CHECK(!elsewhere() || !tensor || tensor->device() == device, kNotImplemented, graph_->name,
           ": it runs on ", device, " and writes ", graph_->variables[variable].name, ", which lies on ",
           tensor->device(), "; move that to ", device, " first");
}

// An arena may be a little larger than what is live at once: the budget is then met with less.
plan::Plan Program::make_plan(const CompileOptions& options) {
  const int64_t budget = options.memory_budget_bytes;
  for (int64_t live_bytes = budget;;) {
    int64_t least = 0;
    bool fits = budget < 0 || fit_memory(*graph_, live_bytes, input_strides_, &least);
    TW_CHECK(fits || !options.must_fit, kValue, graph_->name, ": a memory budget of ", budget,
             " bytes cannot be met: recomputing what can be recomputed leaves ", least,
             " bytes live at once");
    plan::Plan plan = planner::plan_graph(*graph_, input_strides_, first_rank_of(*graph_));
    int64_t excess = -budget;
    for (const plan::Segment& segment : plan.segments)
      if (segment.kind == plan::SegmentKind::kArena) excess += segment.size_bytes;
    if (budget < 0 || excess <= 0 || !fits) return plan;
    live_bytes = std::min(live_bytes, plan.lower_bound_bytes) - excess;
  }
}

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

const eager::Storage& Program::variable(size_t i) const {
  const eager::Storage& storage = *variables_[i]->storage;
  TW_CHECK(storage.size_bytes() == variable_bytes_[i], kRuntime,
           "a compiled function: ", graph_->variables[i].name,
           " has other memory than when it was traced: ", storage.size_bytes(), " bytes, not ",
           variable_bytes_[i]);
  return storage;
}

void Program::check_input(size_t i, const eager::TensorImpl& input) const {
  const ir::GraphValue& wanted = *graph_->inputs[i].value;
  TW_CHECK(input.dtype == wanted.dtype && input.sizes == wanted.sizes &&
               same_walk(wanted.sizes, input.strides, input_strides_[i]),
           kValue, graph_->name, ": input ", graph_->inputs[i].name, " must be a ", wanted.dtype,
           " tensor of shape ", wanted.sizes, " and strides ", input_strides_[i], ", got ", input.dtype,
           " of shape ", input.sizes, " and strides ", input.strides);
}

bool Program::output_fits(int output, const eager::TensorImpl& tensor) const {
  const ir::ValueImpl& wanted = *graph_->outputs[output];
  if (elsewhere() && !(tensor.device() == devices_.outputs[output])) return false;
  return steps_in_flight_ == 0 && tensor.use_count() == 1 && tensor.storage->use_count() == 1 &&
         !tensor.needs_grad() && !tensor.storage->symbolic() && !tensor.storage->read_only &&
         tensor.offset == 0 && tensor.dtype == wanted.dtype && tensor.sizes == wanted.sizes &&
         tensor.strides == output_strides_[output] &&
         tensor.storage->size_bytes() == static_cast<size_t>(wanted.count() * size_of(wanted.dtype));
}

std::vector<eager::Tensor> Program::run(std::span<const eager::Tensor> inputs,
                                        std::span<const Scalar> numbers, const RunOptions& options) {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) {
    eager::Unlocked unlocked;
    lock.lock();
  }
  TW_CHECK(inputs.size() == input_data_.size(), kValue, graph_->name, ": ", input_data_.size(),
           " tensors are wanted, got ", inputs.size());
  for (size_t i = 0; i < inputs.size(); i++) check_input(i, *inputs[i]);
  OnDevice on(*this);
  std::vector<eager::Tensor> brought, outputs;
  if (elsewhere()) {
    for (size_t i = 0; i < inputs.size(); i++)
      brought.push_back(eager::to_device(inputs[i], devices_.inputs[i]));
    inputs = brought;
  }
  outputs.reserve(output_data_.size());
  for (size_t i = 0; i < output_data_.size(); i++) {
    const ir::ValueImpl& output = *graph_->outputs[i];
    bool known = i < options.given.size() && options.given[i];
    const bool stated = !elsewhere() && i < output_devices_.size();
    const device::Device device = elsewhere() ? devices_.outputs[i]
                                  : stated    ? output_devices_[i]
                                              : eager::modes().device;
    outputs.push_back(known ? options.given[i] : eager::empty(output.sizes, output.dtype, device));
    if (output_strides_[i] != outputs[i]->strides)
      outputs[i]->set_geometry({output.sizes, output_strides_[i], 0});
  }
  if (options.draws)
    draws_ = *options.draws;
  else
    draws_ = {eager::draw_block(eager::default_generator(), static_cast<uint64_t>(graph_->draws)), {}};
  executable_->observe(Profiler::active() ? observer_.get() : nullptr);
  // How many random numbers are drawn in regions is known only when the step has run.
  // An accelerator has a queue of its own.
  if (steps_in_flight_ > 0 && !elsewhere() && !plan::has_open_draws(plan()))
    run_later(inputs, outputs, numbers, options.arguments);
  else
    run_now(inputs, outputs, numbers, options.arguments);
  if (!options.draws && extra_draws_ != 0)
    eager::default_generator().next_draws(static_cast<uint64_t>(extra_draws_));
  for (const ir::Assignment& assignment : graph_->assignments)
    if (const eager::Tensor& variable = variables_[assignment.variable]) variable->storage->version++;
  for (const eager::Bound& bound : bound_)
    if (assigned_[bound.variable]) options.arguments[bound.argument]->storage->version++;
  for (size_t i = 0; elsewhere() && i < output_devices_.size(); i++)
    outputs[i] = eager::to_device(outputs[i], output_devices_[i]);
  return outputs;
}

void Program::run_now(std::span<const eager::Tensor> inputs, std::span<const eager::Tensor> outputs,
                      std::span<const Scalar> numbers, std::span<const eager::Tensor> arguments) {
  // All programs meet in the same groups: in the order of the calls.
  if (agreement_) WorkQueue::steps().drain();
  for (size_t i = 0; i < inputs.size(); i++) input_data_[i] = inputs[i]->data();
  std::vector<eager::Tensor> brought;  // variables that lie on the CPU, as they are now
  for (size_t i = 0; i < variables_.size(); i++) {
    if (!variables_[i]) continue;
    variable(i);
    const bool here = !elsewhere() || variables_[i]->device() == devices_.variables[i];
    if (!here) brought.push_back(eager::to_device(whole_of(*variables_[i]), devices_.variables[i]));
    variable_data_[i] = (here ? variables_[i] : brought.back())->storage->data();
  }
  for (const eager::Bound& bound : bound_) {
    const eager::Tensor& argument = arguments[bound.argument];
    check_written(bound.variable, argument);
    variable_data_[bound.variable] = bound.whole ? argument->storage->data() : argument->data();
  }
  for (size_t i = 0; i < outputs.size(); i++) output_data_[i] = outputs[i]->data();
  eager::Unlocked unlocked;
  if (agreement_) agreement_->begin_step();
  extra_draws_ = executable_->run({input_data_, variable_data_, constant_data_, output_data_, numbers,
                                   draws_.first.seed, draws_.first.draw, draws_.keys});
}

// Memory that NumPy or another library owns is copied, since they may write to it while the step is to run;
// where the step writes to it, it runs now.
void Program::run_later(std::span<const eager::Tensor> inputs, std::span<const eager::Tensor> outputs,
                        std::span<const Scalar> numbers, std::span<const eager::Tensor> arguments) {
  for (const eager::Bound& bound : bound_)
    if (arguments[bound.argument]->storage->foreign()) return run_now(inputs, outputs, numbers, arguments);
  auto step = make_ref<QueuedStep>();
  step->executable = executable_.get();
  step->agreement = agreement_;
  step->numbers.assign(numbers.begin(), numbers.end());
  step->constants = constant_data_;
  step->draws = draws_;
  std::vector<eager::Storage*> used, made;
  auto keep = [&](const Ref<eager::Storage>& storage) {
    step->kept.push_back(storage);
    return static_cast<char*>(storage->data_for_later());
  };
  for (const eager::Tensor& given : inputs) {
    bool copied = given->storage->foreign();
    eager::Tensor input = copied ? eager::as_tensor(ir::op<"clone">(ir::Value(eager::alias(*given)))) : given;
    step->inputs.push_back(keep(input->storage) + input->offset * size_of(input->dtype));
    if (!copied) used.push_back(input->storage.get());
  }
  step->variables.resize(variables_.size());
  for (size_t i = 0; i < variables_.size(); i++) {
    if (!variables_[i]) continue;
    variable(i);
    step->variables[i] = keep(variables_[i]->storage);
    used.push_back(variables_[i]->storage.get());
  }
  for (const eager::Bound& bound : bound_) {
    const eager::Tensor& argument = arguments[bound.argument];
    int64_t offset = bound.whole ? 0 : argument->offset * size_of(argument->dtype);
    step->variables[bound.variable] = keep(argument->storage) + offset;
    used.push_back(argument->storage.get());
  }
  for (const eager::Tensor& output : outputs) {
    step->outputs.push_back(keep(output->storage));
    made.push_back(output->storage.get());
  }
  WorkQueue::steps().start(step, steps_in_flight_);
  eager::Storage::use(used, step, false);
  eager::Storage::use(made, step, true);
}

}  // namespace tw::session

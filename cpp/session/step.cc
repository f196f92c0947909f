#include "session/step.h"

#include <algorithm>

#include "base/memory_order.h"
#include "eager/batch_part.h"
#include "eager/generator.h"
#include "eager/modes.h"
#include "ir/emitter.h"
#include "passes/pass.h"
#include "session/global_graph.h"

namespace tw::session {

using eager::Tensor;

namespace {

Tensor row_major(const Tensor& tensor) {
  eager::GradModeGuard no_grad(false);
  return eager::as_tensor(ir::op<"row_major">(ir::Value(tensor)));
}

// A gradient lies as its leaf does, unless something else is said of it.
Tensor as_leaf(const eager::GradChange& change) {
  const Tensor& grad = change.after;
  if (!grad->global || grad->global->decided || !change.leaf->global || !change.leaf->global->decided)
    return grad;
  Tensor laid = eager::alias(*grad);
  laid->global->layout = eager::without_partial(layout_of(*change.leaf));
  laid->global->decided = true;
  return laid;
}

// One of the tensors, of which a layout is decided if of any.
const Tensor& decided_of(const std::vector<Tensor>& tensors) {
  auto at = std::ranges::find_if(tensors, [](const Tensor& tensor) { return tensor->global->decided; });
  return at == tensors.end() ? tensors[0] : *at;
}

ResultPlace place_of(const eager::TensorImpl& tensor) {
  if (!tensor.global) return {{}, {}, tensor.device()};
  const sbp::LayoutRef& layout = layout_of(tensor);
  return {layout->placement, tensor.global->decided ? layout : nullptr};
}

bool reads(const eager::Tracer& tracer, const Tensor& tensor) {
  for (const Tensor& variable : tracer.variables())
    if (tensor && variable && variable->storage == tensor->storage) return true;
  return false;
}

}  // namespace

std::unique_ptr<Step> Step::finish(eager::Tracer& tracer, std::vector<Tensor> results) {
  auto step = std::make_unique<Step>();
  for (const Tensor& result : results) step->results_.push_back(step->source_of(tracer, result));
  for (eager::GradChange& change : tracer.restore_grads()) {
    if (change.read) step->grad_guards_.push_back({change.leaf, static_cast<bool>(change.before)});
    if (change.after == change.before) continue;
    GradEffect effect{change.leaf, tracer.input_of(*change.leaf), -1};
    if (change.after) effect.output = step->add_output(tracer, *as_leaf(change));
    effect.fresh = !reads(tracer, change.before);
    if (effect.input >= 0) effect.leaf = nullptr;
    step->grads_.push_back(std::move(effect));
  }
  return step;
}

int Step::add_output(eager::Tracer& tracer, eager::TensorImpl& tensor) {
  tracer.graph().outputs.push_back(tracer.laid_out(tensor));
  places_.push_back(place_of(tensor));
  return static_cast<int>(tracer.graph().outputs.size()) - 1;
}

Step::Source Step::source_of(eager::Tracer& tracer, const Tensor& tensor) {
  Source source;
  source.input = tracer.input_of(*tensor);
  if (source.input >= 0) return source;
  // A view of a global tensor of the outside has no parts of its own.
  if (tensor->storage->symbolic() || (tensor->global && tensor->global->traced.list()))
    source.output = add_output(tracer, *tensor);
  else
    source.tensor = tensor;
  return source;
}

void Step::set_gradients(eager::Tracer& tracer, const std::vector<Tensor>& gradients, int first_seed) {
  first_seed_ = static_cast<size_t>(first_seed);
  for (const Tensor& gradient : gradients) {
    gradients_.push_back(gradient ? tracer.laid_out(*gradient) : ir::Value());
    if (gradient) gradient_places_.push_back(place_of(*gradient));
  }
}

// Storages made by the program that somebody outside still holds become results.
void Step::keep_state(eager::Tracer& tracer, CompileOptions& options) {
  for (const Ref<eager::Storage>& storage : tracer.escaped()) {
    std::vector<Tensor> globals = tracer.globals_over(*storage);
    ir::Value whole = tracer.whole_of(*storage);
    if (!whole) continue;
    if (!globals.empty()) whole = tracer.laid_out(*decided_of(globals));
    places_.push_back(globals.empty() ? ResultPlace{{}, {}, storage->device()}
                                      : place_of(*decided_of(globals)));
    kept_.push_back({storage, static_cast<int>(tracer.graph().outputs.size()), std::move(globals)});
    tracer.graph().outputs.push_back(std::move(whole));
    options.must_fit = false;  // the one call that makes state takes what that needs
  }
}

void Step::compile(eager::Tracer& tracer, CompileOptions options) {
  keep_state(tracer, options);
  tracer.commit();
  LogicalLeaves leaves{tracer.variables(), tracer.constants(), {}, {}, tracer.bound(), places_};
  for (const Tensor& variable : leaves.variables)
    if (variable)
      leaf_guards_.push_back(
          {variable, variable->requires_grad, variable->dtype, variable->device(), variable->geometry()});
  program_inputs_ = tracer.graph_inputs();
  generators_ = tracer.generators();
  if (generators_.size() > 1) drawn_from_ = tracer.drawn_from(tracer.graph());
  if (generators_.size() == 1 && generators_[0].get() == &eager::default_generator()) generators_.clear();
  if (differentiable()) return split(tracer, leaves, options);
  for (int input : program_inputs_) {
    leaves.input_strides.push_back(tracer.input_strides(input));
    leaves.global_inputs.push_back(tracer.input(input).global != nullptr);
  }
  program_ = std::make_unique<LogicalProgram>(tracer.take_graph(), std::move(leaves), options);
  finish_compiling(tracer);
}

void Step::finish_compiling(eager::Tracer& tracer) { describe_arguments(tracer); }

// The joint graph becomes two programs. Both halves are simplified, and laid out, as one: what backward can
// share with forward, it does.
void Step::split(eager::Tracer& tracer, LogicalLeaves& leaves, const CompileOptions& options) {
  ir::Graph& joint = tracer.graph();
  const size_t own = joint.outputs.size();
  for (const ir::Value& gradient : gradients_)
    if (gradient) joint.outputs.push_back(gradient);
  std::vector<sbp::PlacementRef> places = placements_of(places_),
                                 of_gradients = placements_of(gradient_places_);
  places.insert(places.end(), of_gradients.begin(), of_gradients.end());
  const bool global = !passes::ranks_of(joint).empty();
  if (global)
    decide_layouts(joint, places);
  else
    passes::simplify(joint);
  std::vector<ir::Value> wanted(joint.outputs.begin() + static_cast<int64_t>(own), joint.outputs.end());
  joint.outputs.resize(own);
  auto first_seed = std::find_if(program_inputs_.begin(), program_inputs_.end(),
                                 [&](int input) { return input >= static_cast<int>(first_seed_); });
  Split halves = split_joint(joint, wanted, first_seed - program_inputs_.begin());
  program_inputs_.erase(first_seed, program_inputs_.end());
  backward_inputs_ = std::move(halves.inputs);
  LogicalLeaves read;
  for (int i : halves.variables) {
    TW_CHECK(leaves.variables[i], kNotImplemented, joint.name,
             ": the gradient of its results reads an argument that it writes to in place");
    read.variables.push_back(leaves.variables[i]);
  }
  for (int i : halves.constants) read.constants.push_back(leaves.constants[i]);
  read.results = gradient_places_;
  for (int input : program_inputs_) {
    leaves.input_strides.push_back(tracer.input_strides(input));
    leaves.global_inputs.push_back(tracer.input(input).global != nullptr);
  }
  program_ = std::make_unique<LogicalProgram>(tracer.take_graph(), std::move(leaves), options, global);
  finish_compiling(tracer);
  for (size_t i = 0; i < backward_inputs_.size(); i++) {
    const ir::GraphValue& value = *halves.backward->inputs[i].value;
    read.input_strides.push_back(strides_of(tracer, backward_inputs_[i], value.sizes));
    read.global_inputs.push_back(is_global(tracer, backward_inputs_[i], value));
  }
  backward_ = std::make_unique<LogicalProgram>(std::move(halves.backward), std::move(read), options, global);
}

// What is saved in between is what it is in the graph.
bool Step::is_global(const eager::Tracer& tracer, const BackwardInput& input,
                     const ir::GraphValue& value) const {
  switch (input.kind) {
    case BackwardInput::kArgument:
      return tracer.input(program_inputs_[input.index]).global != nullptr;
    case BackwardInput::kSaved:
      return value.layout != nullptr;
    default:
      return tracer.input(static_cast<int>(first_seed_) + input.index).global != nullptr;
  }
}

// What backward is given lies as forward has it; gradients of results come in row-major order.
Dims Step::strides_of(const eager::Tracer& tracer, const BackwardInput& input, const Dims& sizes) const {
  switch (input.kind) {
    case BackwardInput::kArgument:
      return tracer.input_strides(program_inputs_[input.index]);
    case BackwardInput::kSaved:
      return passes::ranks_of(program_->graph()).empty() ? program_->output_strides(input.index)
                                                         : contiguous_strides(sizes);
    default:
      return contiguous_strides(sizes);
  }
}

bool Step::valid() const {
  for (const GradGuard& guard : grad_guards_)
    if (static_cast<bool>(guard.leaf->grad) != guard.present) return false;
  for (const LeafGuard& guard : leaf_guards_) {
    const eager::TensorImpl& tensor = *guard.tensor;
    if (tensor.requires_grad != guard.requires_grad || tensor.dtype != guard.dtype ||
        !(tensor.device() == guard.device) || tensor.offset != guard.geometry.offset ||
        !(tensor.strides == guard.geometry.strides) || !(tensor.sizes == guard.geometry.sizes))
      return false;
  }
  return program_->variables_fit();
}

void Step::describe_arguments(const eager::Tracer& tracer) {
  size_t count = differentiable() ? first_seed_ : static_cast<size_t>(tracer.input_count());
  for (size_t i = 0; i < count; i++) {
    Argument argument;
    argument.variable = tracer.variable_of_input(static_cast<int>(i));
    const eager::TensorImpl& tensor = tracer.input(static_cast<int>(i));
    argument.offset = tensor.offset;
    argument.storage_bytes = tensor.storage->size_bytes();
    if (argument.variable >= 0) {
      argument.written = program_->assigns(argument.variable);
      argument.whole = !tensor.storage->symbolic();
      if (argument.whole) argument.fixed = program_->variables()[argument.variable];
    }
    arguments_.push_back(std::move(argument));
  }
}

// Whether memory of the outside that the program reads or writes is that of an argument, and one of them is
// written.
bool Step::clashes(const eager::Storage* storage, bool written) const {
  const auto& variables = program_->variables();
  for (size_t i = 0; i < variables.size(); i++)
    if (variables[i] && variables[i]->storage.get() == storage && (written || program_->assigns(i)))
      return true;
  return false;
}

// Programs that write must find memory shared as it was when they were traced.
bool Step::memory_fits(std::span<const Tensor> inputs) const {
  if (!program_->assigns_any()) return true;
  for (size_t i = 0; i < inputs.size(); i++) {
    const Argument& argument = arguments_[i];
    const eager::Storage* storage = inputs[i]->storage.get();
    if (argument.whole &&
        (inputs[i]->offset != argument.offset || storage->size_bytes() != argument.storage_bytes))
      return false;
    if (argument.fixed ? storage != argument.fixed->storage.get() : clashes(storage, argument.written))
      return false;
    for (size_t j = 0; j < i; j++) {
      const Argument& other = arguments_[j];
      bool shared = inputs[j]->storage.get() == storage;
      bool one = argument.whole && other.whole && argument.variable == other.variable;
      if (one ? !shared : shared && (argument.written || other.written)) return false;
    }
  }
  return true;
}

bool Step::accepts(std::span<const Tensor> inputs) const { return valid() && memory_fits(inputs); }

std::vector<uint32_t> Step::backward_versions() const {
  std::vector<uint32_t> versions;
  for (const Tensor& variable : backward_->variables()) versions.push_back(variable->storage->version);
  return versions;
}

std::vector<Tensor> Step::run_backward(std::span<const Tensor> saved, std::span<const Tensor> seeds,
                                       std::span<const uint32_t> versions, const Draws& draws) {
  TW_CHECK(refusal_.empty(), kRuntime, refusal_);
  for (size_t i = 0; i < versions.size(); i++)
    TW_CHECK(backward_->variables()[i]->storage->version == versions[i], kRuntime, backward_->graph().name,
             ": ", backward_->graph().variables[i].name,
             ", which it needs, has been changed by an in-place operation since the function was called");
  std::vector<Tensor> inputs;
  size_t next = 0;
  for (const BackwardInput& input : backward_inputs_)
    inputs.push_back(input.kind == BackwardInput::kSeed ? seeds[input.index] : saved[next++]);
  std::vector<Tensor> values = backward_->run(inputs, {}, {{}, &draws, {}}), gradients;
  next = 0;
  for (const ir::Value& gradient : gradients_) gradients.push_back(gradient ? values[next++] : Tensor());
  return gradients;
}

// Gradients that the program replaces give it their memory, where nobody else holds them. By number of the
// result; null for the others.
std::vector<Tensor> Step::old_gradients(std::span<const Tensor> inputs) const {
  std::vector<Tensor> old;
  for (const GradEffect& effect : grads_) {
    const Tensor& leaf = effect.input >= 0 ? inputs[effect.input] : effect.leaf;
    if (!effect.fresh || effect.output < 0 || !leaf->grad ||
        !program_->output_fits(effect.output, *leaf->grad))
      continue;
    old.resize(program_->graph().outputs.size());
    old[effect.output] = leaf->grad;
  }
  return old;
}

void Step::give_to(const Kept& kept, const Tensor& value) {
  if (kept.globals.empty()) return kept.storage->take_over(*value->storage);
  for (const Tensor& tensor : kept.globals) {
    tensor->storage = value->storage;
    tensor->global = std::make_unique<eager::GlobalPart>(*value->global);
  }
}

// Takes the numbers of a run from its generators.
Draws Step::next_draws() {
  if (generators_.size() == 1)
    return {eager::draw_block(*generators_[0], static_cast<uint64_t>(program_->graph().draws)), {}};
  Draws draws;
  for (int generator : drawn_from_) draws.keys.push_back(eager::draw_block(*generators_[generator], 1));
  return draws;
}

std::vector<Tensor> Step::run(std::span<const Tensor> inputs, std::span<const Scalar> numbers) {
  SmallVector<Tensor, 8> ready;
  for (int i : program_inputs_) {  // the program wants memory without gaps
    const bool fits = inputs[i]->global || is_dense(inputs[i]->sizes, inputs[i]->strides);
    ready.push_back(fits ? inputs[i] : row_major(inputs[i]));
  }
  std::vector<Tensor> old = old_gradients(inputs);
  std::vector<Tensor> values;
  try {
    Draws draws;
    if (!generators_.empty()) draws = next_draws();
    values = program_->run({ready.data(), ready.size()}, numbers,
                           {inputs, generators_.empty() ? nullptr : &draws, old});
    if (generators_.size() == 1) generators_[0]->next_draws(static_cast<uint64_t>(program().extra_draws()));
  } catch (...) {
    // As in eager mode, where they are cleared before anything can fail.
    for (const GradEffect& effect : grads_)
      if (effect.output >= 0 && !old.empty() && old[effect.output])
        (effect.input >= 0 ? inputs[effect.input] : effect.leaf)->grad = nullptr;
    throw;
  }
  saved_.clear();
  for (const BackwardInput& input : backward_inputs_)
    if (input.kind != BackwardInput::kSeed)
      saved_.push_back(input.kind == BackwardInput::kSaved ? values[input.index] : ready[input.index]);
  std::vector<Tensor> results;
  for (const Source& source : results_)
    results.push_back(source.output >= 0  ? values[source.output]
                      : source.input >= 0 ? inputs[source.input]
                                          : source.tensor);
  for (const GradEffect& effect : grads_) {
    const Tensor& leaf = effect.input >= 0 ? inputs[effect.input] : effect.leaf;
    leaf->grad = effect.output >= 0 ? values[effect.output] : nullptr;
    if (leaf->grad) leaf->grad->storage->version++;
  }
  for (Kept& kept : kept_) give_to(kept, values[kept.output]);
  return results;
}

}  // namespace tw::session

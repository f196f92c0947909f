#include "session/step.h"

#include <algorithm>

#include "base/memory_order.h"
#include "eager/generator.h"
#include "eager/modes.h"
#include "ir/emitter.h"
#include "passes/pass.h"

namespace tw::session {

using eager::Tensor;

namespace {

Tensor row_major(const Tensor& tensor) {
  eager::GradModeGuard no_grad(false);
  return eager::as_tensor(ir::op<"row_major">(ir::Value(tensor)));
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
    if (change.after) effect.output = step->add_output(tracer, *change.after);
    effect.fresh = !reads(tracer, change.before);
    if (effect.input >= 0) effect.leaf = nullptr;
    step->grads_.push_back(std::move(effect));
  }
  return step;
}

int Step::add_output(eager::Tracer& tracer, eager::TensorImpl& tensor) {
  tracer.graph().outputs.push_back(tracer.value_of(tensor));
  return static_cast<int>(tracer.graph().outputs.size()) - 1;
}

Step::Source Step::source_of(eager::Tracer& tracer, const Tensor& tensor) {
  Source source;
  source.input = tracer.input_of(*tensor);
  if (source.input >= 0) return source;
  if (tensor->storage->symbolic())
    source.output = add_output(tracer, *tensor);
  else
    source.tensor = tensor;
  return source;
}

void Step::set_gradients(eager::Tracer& tracer, const std::vector<Tensor>& gradients, int first_seed) {
  first_seed_ = static_cast<size_t>(first_seed);
  for (const Tensor& gradient : gradients)
    gradients_.push_back(gradient ? tracer.value_of(*gradient) : ir::Value());
}

void Step::compile(eager::Tracer& tracer, CompileOptions options) {
  for (const Ref<eager::Storage>& storage : tracer.escaped()) {
    ir::Value whole = tracer.whole_of(*storage);
    if (!whole) continue;
    kept_.push_back({storage, static_cast<int>(tracer.graph().outputs.size())});
    tracer.graph().outputs.push_back(std::move(whole));
    options.must_fit = false;  // the one call that makes state takes what that needs
  }
  tracer.commit();
  std::vector<Tensor> variables = tracer.variables(), constants = tracer.constants();
  for (const Tensor& variable : variables)
    if (variable)
      leaf_guards_.push_back({variable, variable->requires_grad, variable->dtype, variable->geometry()});
  program_inputs_ = tracer.graph_inputs();
  Split split;
  std::vector<Tensor> read_variables, read_constants;
  if (differentiable()) {
    // Both halves are simplified as one: what backward can share with forward, it does.
    ir::Graph& joint = tracer.graph();
    size_t own = joint.outputs.size();
    for (const ir::Value& gradient : gradients_)
      if (gradient) joint.outputs.push_back(gradient);
    passes::simplify(joint);
    std::vector<ir::Value> wanted(joint.outputs.begin() + static_cast<int64_t>(own), joint.outputs.end());
    joint.outputs.resize(own);
    auto first_seed = std::find_if(program_inputs_.begin(), program_inputs_.end(),
                                   [&](int input) { return input >= static_cast<int>(first_seed_); });
    split = split_joint(tracer.graph(), wanted, first_seed - program_inputs_.begin());
    program_inputs_.erase(first_seed, program_inputs_.end());
    for (int i : split.variables) {
      TW_CHECK(variables[i], kNotImplemented, tracer.graph().name,
               ": the gradient of its results reads an argument that it writes to in place");
      read_variables.push_back(variables[i]);
    }
    for (int i : split.constants) read_constants.push_back(constants[i]);
    backward_inputs_ = std::move(split.inputs);
  }
  std::vector<Dims> strides;
  for (int input : program_inputs_) strides.push_back(tracer.input_strides(input));
  program_ = std::make_unique<Program>(tracer.take_graph(), std::move(variables), std::move(constants),
                                       std::move(strides), tracer.bound(), options);
  describe_arguments(tracer);
  if (tracer.generator().get() != &eager::default_generator()) generator_ = tracer.generator();
  if (!split.backward) return;
  strides.clear();
  for (size_t i = 0; i < backward_inputs_.size(); i++)
    strides.push_back(strides_of(tracer, backward_inputs_[i], split.backward->inputs[i].value->sizes));
  backward_ = std::make_unique<Program>(std::move(split.backward), std::move(read_variables),
                                        std::move(read_constants), std::move(strides),
                                        std::vector<eager::Bound>(), options);
}

// What backward is given lies as forward has it; gradients of results come in row-major order.
Dims Step::strides_of(const eager::Tracer& tracer, const BackwardInput& input, const Dims& sizes) const {
  switch (input.kind) {
    case BackwardInput::kArgument:
      return tracer.input_strides(program_inputs_[input.index]);
    case BackwardInput::kSaved:
      return program_->output_strides(input.index);
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
        tensor.offset != guard.geometry.offset || !(tensor.strides == guard.geometry.strides) ||
        !(tensor.sizes == guard.geometry.sizes))
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
                                       std::span<const uint32_t> versions, PhiloxKey first_draw) {
  TW_CHECK(refusal_.empty(), kRuntime, refusal_);
  for (size_t i = 0; i < versions.size(); i++)
    TW_CHECK(backward_->variables()[i]->storage->version == versions[i], kRuntime, backward_->graph().name,
             ": ", backward_->graph().variables[i].name,
             ", which it needs, has been changed by an in-place operation since the function was called");
  std::vector<Tensor> inputs;
  size_t next = 0;
  for (const BackwardInput& input : backward_inputs_)
    inputs.push_back(input.kind == BackwardInput::kSeed ? seeds[input.index] : saved[next++]);
  std::vector<Tensor> values = backward_->run(inputs, {}, {{}, &first_draw, {}}), gradients;
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

std::vector<Tensor> Step::run(std::span<const Tensor> inputs, std::span<const Scalar> numbers) {
  SmallVector<Tensor, 8> ready;
  for (int i : program_inputs_)  // the program wants memory without gaps
    ready.push_back(is_dense(inputs[i]->sizes, inputs[i]->strides) ? inputs[i] : row_major(inputs[i]));
  std::vector<Tensor> old = old_gradients(inputs);
  std::vector<Tensor> values;
  try {
    PhiloxKey first;
    if (generator_) first = generator_->next_draws(static_cast<uint64_t>(program_->graph().draws));
    values =
        program_->run({ready.data(), ready.size()}, numbers, {inputs, generator_ ? &first : nullptr, old});
    if (generator_) generator_->next_draws(static_cast<uint64_t>(program_->extra_draws()));
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
  for (auto& [storage, output] : kept_) storage->take_over(*values[output]->storage);
  return results;
}

}  // namespace tw::session

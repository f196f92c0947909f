#include "session/step.h"

#include <cstring>

namespace tw::session {

using eager::Tensor;

std::unique_ptr<Step> Step::finish(eager::Tracer& tracer, std::vector<Tensor> results) {
  auto step = std::make_unique<Step>();
  for (const Tensor& result : results) step->results_.push_back(step->source_of(tracer, result));
  for (eager::GradChange& change : tracer.restore_grads()) {
    if (change.read) step->grad_guards_.push_back({change.leaf, static_cast<bool>(change.before)});
    if (change.after == change.before) continue;
    GradEffect effect{change.leaf, tracer.input_of(*change.leaf), -1};
    if (change.after) effect.output = step->add_output(tracer, *change.after);
    if (effect.input >= 0) effect.leaf = nullptr;
    step->grads_.push_back(std::move(effect));
  }
  for (const Tensor& variable : tracer.variables())
    step->leaf_guards_.push_back({variable, variable->requires_grad});
  return step;
}

int Step::add_output(eager::Tracer& tracer, eager::TensorImpl& tensor) {
  tracer.graph().outputs.push_back(tracer.value_of(tensor));
  return static_cast<int>(tracer.graph().outputs.size()) - 1;
}

Step::Source Step::source_of(eager::Tracer& tracer, const Tensor& tensor) {
  Source source;
  if (!tensor->storage->symbolic()) {
    source.tensor = tensor;
  } else {
    source.input = tracer.input_of(*tensor);
    if (source.input < 0) source.output = add_output(tracer, *tensor);
  }
  return source;
}

void Step::compile(eager::Tracer& tracer) {
  for (const Ref<eager::Storage>& storage : tracer.escaped()) {
    ir::Value whole = tracer.whole_of(*storage);
    if (!whole) continue;
    kept_.push_back({storage, static_cast<int>(tracer.graph().outputs.size())});
    tracer.graph().outputs.push_back(std::move(whole));
  }
  tracer.commit();
  std::vector<Tensor> variables = tracer.variables(), constants = tracer.constants();
  program_ = std::make_unique<Program>(tracer.take_graph(), std::move(variables), std::move(constants));
}

bool Step::valid() const {
  for (const GradGuard& guard : grad_guards_)
    if (static_cast<bool>(guard.leaf->grad) != guard.present) return false;
  for (const LeafGuard& guard : leaf_guards_)
    if (guard.tensor->requires_grad != guard.requires_grad) return false;
  return program_->variables_fit();
}

std::vector<Tensor> Step::run(std::span<const Tensor> inputs, std::span<const Scalar> numbers) {
  std::vector<Tensor> values = program_->run(inputs, numbers);
  std::vector<Tensor> results;
  for (const Source& source : results_)
    results.push_back(source.output >= 0  ? values[source.output]
                      : source.input >= 0 ? inputs[source.input]
                                          : source.tensor);
  for (const GradEffect& effect : grads_) {
    const Tensor& leaf = effect.input >= 0 ? inputs[effect.input] : effect.leaf;
    leaf->grad = effect.output >= 0 ? values[effect.output] : nullptr;
  }
  for (auto& [storage, output] : kept_) {
    storage->materialize();
    std::memcpy(storage->data(), values[output]->data(), storage->size_bytes());
  }
  return results;
}

}  // namespace tw::session

#include "session/step_node.h"

#include <algorithm>

#include "eager/modes.h"
#include "eager/node.h"
#include "eager/result_order.h"
#include "eager/saved.h"
#include "ir/emitter.h"

namespace tw::session {

using eager::Tensor;

namespace {

// On the tape of what create_graph records: says that it cannot be differentiated.
class NotTwice final : public eager::Node {
 public:
  explicit NotTwice(std::string name) : name_(std::move(name)) {}
  void backward(std::vector<Tensor>&, std::vector<Tensor>&) override {
    TW_FAIL(kNotImplemented, name_,
            ": gradients of a compiled function cannot be differentiated; compute them inside it");
  }
  std::string name() const override { return name_; }

 private:
  std::string name_;
};

class StepNode final : public eager::Node {
 public:
  explicit StepNode(std::shared_ptr<Step> step)
      : step_(std::move(step)), versions_(step_->backward_versions()), draws_(step_->draws()) {}

  void save(const std::vector<Tensor>& results) {
    for (const Tensor& tensor : step_->take_saved()) {
      bool is_result = std::find(results.begin(), results.end(), tensor) != results.end();
      saved_.emplace_back(tensor, is_result);
    }
  }

  void backward(std::vector<Tensor>& grads, std::vector<Tensor>& input_grads) override {
    TW_CHECK(
        !released_, kRuntime, name(),
        ": backward has already run through this graph and freed what it saved; pass retain_graph=True to "
        "the first backward to run it again");
    bool recording = false;
    for (const Tensor& grad : grads) recording |= grad && grad->needs_grad();
    recording &= eager::modes().grad_enabled;
    std::vector<Tensor> found;
    {
      eager::GradModeGuard no_grad(false);
      std::vector<Tensor> seeds, saved;
      for (size_t i = 0; i < grads.size(); i++) {
        ir::Value seed =
            grads[i] ? ir::Value(grads[i]) : ir::op<"full">(outputs[i].sizes, 0, outputs[i].dtype);
        const Tensor& given = eager::as_tensor(seed);
        seeds.push_back(given->contiguous ? given : eager::row_major_copy(given));
      }
      for (const eager::SavedTensor& tensor : saved_) saved.push_back(tensor.unpack(nullptr, name().c_str()));
      found = step_->run_backward(saved, seeds, versions_, draws_);
    }
    for (size_t i = 0; i < edges.size(); i++) {
      if (!edges[i].node || !found[i]) continue;
      if (recording) forbid_second(*found[i]);
      input_grads[i] = found[i];
    }
  }

  void release() override {
    released_ = true;
    saved_.clear();
  }
  std::string name() const override { return step_->program().graph().name + " backward"; }

 private:
  void forbid_second(eager::TensorImpl& gradient) const {
    Ref<NotTwice> node(new NotTwice(name()));
    node->outputs.push_back({gradient.dtype, gradient.sizes});
    eager::set_history(gradient, node, 0);
  }

  std::shared_ptr<Step> step_;
  std::vector<uint32_t> versions_;
  Draws draws_;  // of the run
  std::vector<eager::SavedTensor> saved_;
  bool released_ = false;
};

}  // namespace

std::vector<Tensor> run_on_tape(const std::shared_ptr<Step>& step, const Tape& tape,
                                std::span<const Tensor> inputs, std::span<const Scalar> numbers) {
  std::vector<Tensor> results;
  {
    eager::GradModeGuard no_grad(false);
    results = step->run(inputs, numbers);
  }
  SmallVector<eager::Edge, 8> edges;  // first: they may make nodes, which are older than this one
  for (int i : tape.arguments) edges.push_back(eager::gradient_edge(*inputs[i]));
  for (const Tensor& variable : tape.variables) edges.push_back(eager::gradient_edge(*variable));
  Ref<StepNode> node(new StepNode(step));
  eager::remember_origin(*node);
  for (eager::Edge& edge : edges) node->edges.push_back(std::move(edge));
  for (size_t i = 0; i < tape.results.size(); i++) {
    eager::TensorImpl& result = *results[tape.results[i]];
    node->outputs.push_back({result.dtype, result.sizes});
    eager::set_history(result, node, static_cast<uint32_t>(i));
  }
  node->save(results);
  return results;
}

}  // namespace tw::session

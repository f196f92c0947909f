// A traced call: the program and what its Python side needs beside the values, results that are tensors of
// the outside, gradients of leaves, and tensors that the program made and somebody kept.
#pragma once

#include "eager/generator.h"
#include "session/joint.h"
#include "session/logical_program.h"

namespace tw::session {

class Step {
 public:
  // Ends the trace: `results` are the tensors that the function returned. The tracer must not be current any
  // more.
  static std::unique_ptr<Step> finish(eager::Tracer& tracer, std::vector<eager::Tensor> results);
  // Says that the results are differentiated outside: `gradients` (null where none flows), recorded after
  // finish(), are functions of what finish() was given and of the inputs from `first_seed` on, the gradients
  // of results.
  void set_gradients(eager::Tracer& tracer, const std::vector<eager::Tensor>& gradients, int first_seed);
  // There are none: run_backward() says why.
  void refuse_gradients(const std::string& why) { refusal_ = why; }
  // Plans. Before it, the caller drops the results: what is still held then was kept by the program.
  void compile(eager::Tracer& tracer, CompileOptions options = {});

  // False when the world has changed so that the trace no longer describes the function.
  bool valid() const;
  // Whether it may be called with these, too.
  bool accepts(std::span<const eager::Tensor> inputs) const;
  // Runs; returns the tensors that the function returns. Not after a run of a step that made state.
  std::vector<eager::Tensor> run(std::span<const eager::Tensor> inputs, std::span<const Scalar> numbers);

  bool differentiable() const { return !gradients_.empty(); }
  // What backward needs of the run before: arguments and intermediate values, to be given back to it.
  std::vector<eager::Tensor> take_saved() { return std::move(saved_); }
  const Draws& draws() const { return program_->program().draws(); }
  // The gradients, null where none flows; random numbers of the forward pass that are drawn again are those
  // that it drew. Throws kRuntime where a variable that it reads has been written to since.
  std::vector<eager::Tensor> run_backward(std::span<const eager::Tensor> saved,
                                          std::span<const eager::Tensor> seeds,
                                          std::span<const uint32_t> versions, const Draws& draws);
  std::vector<uint32_t> backward_versions() const;  // of the variables that backward reads

  // The program made tensors that outlive it, as the first step of an optimizer does: it is good for one run.
  bool made_state() const { return !kept_.empty(); }
  LogicalProgram& logical() { return *program_; }
  Program& program() { return program_->program(); }
  Program& backward() { return backward_->program(); }  // of a differentiable step
  void set_steps_in_flight(int count) {
    program().set_steps_in_flight(count);
    if (backward_) backward().set_steps_in_flight(count);
  }

 private:
  // What a returned tensor, or a gradient, is: a result of the graph, an argument, or a tensor of the
  // outside.
  struct Source {
    int output = -1, input = -1;
    eager::Tensor tensor;
  };
  struct GradEffect {
    eager::Tensor leaf;
    int input = -1;      // the leaf is this argument
    int output = -1;     // result of the graph; -1: none
    bool fresh = false;  // the program does not read the gradient that was there
  };
  struct GradGuard {
    eager::Tensor leaf;
    bool present;
  };
  struct LeafGuard {
    eager::Tensor tensor;
    bool requires_grad;
    DType dtype;
    device::Device device;
    ir::Geometry geometry;
  };
  // A storage that the program made and somebody holds, with the result that fills it.
  struct Kept {
    Ref<eager::Storage> storage;
    int output;
    std::vector<eager::Tensor> globals;  // tensors over it that stand for global ones
  };
  // What the program may assume about the memory of an argument.
  struct Argument {
    bool written = false;
    bool whole = false;   // a variable is its storage: bound to it, or
    eager::Tensor fixed;  // that of this tensor of the outside
    int variable = -1;
    int64_t offset = 0;  // of these two kinds
    size_t storage_bytes = 0;
  };
  void describe_arguments(const eager::Tracer& tracer);
  Draws next_draws();
  bool memory_fits(std::span<const eager::Tensor> inputs) const;
  bool clashes(const eager::Storage* storage, bool written) const;
  Source source_of(eager::Tracer& tracer, const eager::Tensor& tensor);
  int add_output(eager::Tracer& tracer, eager::TensorImpl& tensor);
  std::vector<eager::Tensor> old_gradients(std::span<const eager::Tensor> inputs) const;
  bool is_global(const eager::Tracer& tracer, const BackwardInput& input, const ir::GraphValue& value) const;
  void finish_compiling(eager::Tracer& tracer);
  static void give_to(const Kept& kept, const eager::Tensor& value);
  void keep_state(eager::Tracer& tracer, CompileOptions& options);
  void split(eager::Tracer& tracer, LogicalLeaves& leaves, const CompileOptions& options);
  Dims strides_of(const eager::Tracer& tracer, const BackwardInput& input, const Dims& sizes) const;

  std::vector<Source> results_;
  std::vector<GradEffect> grads_;
  std::vector<GradGuard> grad_guards_;
  std::vector<LeafGuard> leaf_guards_;
  std::vector<Kept> kept_;
  std::vector<ResultPlace> places_;  // of the graph's outputs
  std::unique_ptr<LogicalProgram> program_;

  std::vector<Ref<eager::Generator>> generators_;  // none: the default one
  std::vector<int> drawn_from_;                    // by draw, which of them; where there are several
  std::vector<Argument> arguments_;
  std::vector<int> program_inputs_;  // which arguments they are

  std::vector<ir::Value> gradients_;  // null where none flows
  std::vector<ResultPlace> gradient_places_;
  size_t first_seed_ = 0;
  std::vector<BackwardInput> backward_inputs_;
  std::string refusal_;
  std::unique_ptr<LogicalProgram> backward_;
  std::vector<eager::Tensor> saved_;
};

}  // namespace tw::session

// A program as a step sees it: of the tensors of the function, local and global ones. Where some are global,
// what runs is the program of the parts that this process has, and this brings tensors to parts and back.
#pragma once

#include <optional>

#include "passes/partition/partition.h"
#include "session/program.h"

namespace tw::session {

// What the caller takes a result to be: a local tensor where there is no placement, else a global one, whose
// layout may be decided.
struct ResultPlace {
  sbp::PlacementRef placement;
  sbp::LayoutRef layout;
  std::optional<device::Device> device = {};  // of a local tensor; none: where the graph runs
};

// What else there is to know of a logical graph.
struct LogicalLeaves {
  // Behind those of the graph, in the same order. Variables that are bound to arguments have no tensor.
  std::vector<eager::Tensor> variables, constants;
  std::vector<Dims> input_strides;  // of local inputs; of global ones they are not looked at
  std::vector<bool> global_inputs;  // which inputs are global tensors
  std::vector<eager::Bound> bound;
  std::vector<ResultPlace> results;  // outputs beyond them are what they are in the graph
};
std::vector<sbp::PlacementRef> placements_of(const std::vector<ResultPlace>& results);

class LogicalProgram {
 public:
  // A graph with layouts is cut as it lies where `decided`, else they are chosen first.
  LogicalProgram(std::unique_ptr<ir::Graph> graph, LogicalLeaves leaves, CompileOptions options,
                 bool decided = false);

  // As Program::run; inputs, arguments and results are those of the logical graph. Global inputs that lie in
  // another way are boxed.
  std::vector<eager::Tensor> run(std::span<const eager::Tensor> inputs, std::span<const Scalar> numbers,
                                 const RunOptions& options = {});
  // Whether the variables are as when the program was made: their memory, and how they lie.
  bool variables_fit() const;
  bool output_fits(int output, const eager::TensorImpl& tensor) const;
  // Of a result that is a local tensor.
  const Dims& output_strides(int output) const;

  const std::vector<eager::Tensor>& variables() const {
    return whole_ ? leaves_.variables : program_->variables();
  }
  bool assigns(size_t variable) const { return whole_ ? assigned_[variable] : program_->assigns(variable); }
  bool assigns_any() const { return program_->assigns_any(); }
  // The logical graph; where nothing is global, the one that runs.
  ir::Graph& graph() { return whole_ ? *whole_ : program_->graph(); }
  // What runs.
  Program& program() { return *program_; }
  const Program& program() const { return *program_; }

 private:
  // A logical result: its parts are results of the program.
  struct Result {
    Dims sizes;
    DType dtype;
    sbp::LayoutRef layout;   // null: a local tensor, the first of the parts
    std::vector<int> parts;  // in the order of the placement
  };
  // What a leaf of the program is: a tensor of the logical graph, or of a global one a shard.
  struct Part {
    int index, shard;
    const eager::Tensor& of(const eager::Tensor& tensor) const;
  };
  static std::vector<Part> parts_of(const std::vector<ir::Leaf>& leaves,
                                    const std::vector<passes::PartOf>& cut);
  void find_results();
  void bind_parts(std::vector<eager::Bound>* bound);
  std::vector<device::Device> devices() const;
  std::vector<eager::Tensor> parts_of_inputs(std::span<const eager::Tensor> inputs) const;
  std::vector<eager::Tensor> given_parts(std::span<const eager::Tensor> given) const;
  std::vector<eager::Tensor> whole_results(std::vector<eager::Tensor> parts) const;

  LogicalLeaves leaves_;
  std::unique_ptr<ir::Graph> whole_;  // null where nothing is global
  passes::ProcessGraph cut_;          // without its graph
  std::vector<Result> results_;
  std::vector<Part> input_parts_, variable_parts_;
  std::vector<Part> bound_parts_;  // of arguments, in the order in which the program finds them
  std::vector<bool> assigned_;
  int world_version_ = 0;
  std::unique_ptr<Program> program_;
};

}  // namespace tw::session

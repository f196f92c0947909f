// A saved graph that runs again, with its variables and numbers.
#pragma once

#include "session/archive.h"
#include "session/logical_program.h"

namespace tw::session {

class LoadedProgram {
 public:
  // Plans. Throws as load_archive does.
  // Global tensors lie where they did when it was saved, or on the ranks of `placement`.
  // Runs on `device`, where its variables lie then. Throws kDevice where there is none.
  static std::unique_ptr<LoadedProgram> load(const std::string& path,
                                             const sbp::PlacementRef& placement = nullptr,
                                             device::Device device = {});
  LoadedProgram(const std::string& path, Archive archive);

  // Runs once; returns the outputs of the graph, in row-major order. `numbers`, by name, stand in for the
  // kept ones in this run. Sizes that may differ are bound anew, and planned where they are not those of one
  // of the last runs. Throws kValue where an input has another dtype or shape than the saved graph's, and for
  // unknown names. One call at a time.
  std::vector<eager::Tensor> run(std::span<const eager::Tensor> inputs,
                                 std::span<const std::pair<std::string, Scalar>> numbers);

  LogicalProgram& program() { return *programs_[0].program; }  // at the sizes of the last run
  // At the sizes that it was saved with.
  const std::vector<ir::Leaf>& inputs() const { return inputs_; }
  const std::vector<eager::Tensor>& variables() { return program().variables(); }
  const Sizes& sizes() const { return sizes_; }
  const Numbers& numbers() const { return numbers_; }
  const std::vector<Scalar>& number_values() const { return numbers_.values; }
  const std::string& results() const { return results_; }
  const std::vector<std::string>& result_names() const { return result_names_; }

 private:
  struct Bound {
    std::vector<int64_t> values;
    std::unique_ptr<LogicalProgram> program;
  };
  void check_types(std::span<const eager::Tensor> inputs) const;
  LogicalProgram& program_for(std::span<const eager::Tensor> inputs);
  void bind(std::vector<int64_t> values);
  std::unique_ptr<LogicalProgram> planned(std::unique_ptr<ir::Graph> graph,
                                          std::vector<eager::Tensor> variables,
                                          std::vector<eager::Tensor> constants) const;

  std::string path_;
  std::vector<ir::Leaf> inputs_;
  Sizes sizes_;
  // Where sizes may differ: as it was saved.
  std::unique_ptr<ir::Graph> graph_;
  std::vector<eager::Tensor> variables_, constants_;
  Numbers numbers_;
  std::string results_;
  std::vector<std::string> result_names_, places_;
  std::vector<Bound> programs_;  // the one used last comes first
};

}  // namespace tw::session

// A saved graph that runs again, with its variables and numbers.
#pragma once

#include "session/archive.h"
#include "session/program.h"

namespace tw::session {

class LoadedProgram {
 public:
  // Plans. Throws as load_archive does.
  static std::unique_ptr<LoadedProgram> load(const std::string& path);
  LoadedProgram(const std::string& path, Archive archive);

  // Runs once; returns the outputs of the graph, in row-major order. `numbers`, by name, stand in for the
  // kept ones in this run. Throws kValue where an input has another dtype or shape than the saved graph's,
  // and for unknown names. One call at a time.
  std::vector<eager::Tensor> run(std::span<const eager::Tensor> inputs,
                                 std::span<const std::pair<std::string, Scalar>> numbers);

  ir::Graph& graph() { return program_->graph(); }
  Program& program() { return *program_; }
  const Numbers& numbers() const { return numbers_; }
  const std::vector<Scalar>& number_values() const { return numbers_.values; }
  const std::string& results() const { return results_; }
  const std::vector<std::string>& result_names() const { return result_names_; }

 private:
  eager::Tensor checked(const eager::Tensor& tensor, const ir::Leaf& input) const;

  std::string path_;
  Numbers numbers_;
  std::string results_;
  std::vector<std::string> result_names_;
  std::unique_ptr<Program> program_;
};

}  // namespace tw::session

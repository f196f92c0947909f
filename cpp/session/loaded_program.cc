#include "session/loaded_program.h"

#include <algorithm>

#include "eager/result_order.h"
#include "ir/graph_text.h"
#include "session/formula.h"

namespace tw::session {

using eager::Tensor;

std::unique_ptr<LoadedProgram> LoadedProgram::load(const std::string& path) {
  Archive archive = load_archive(path);
  try {
    return std::make_unique<LoadedProgram>(path, std::move(archive));
  } catch (const Error& error) {
    ErrorKind kind = error.kind() == ErrorKind::kInternal ? ErrorKind::kValue : error.kind();
    throw_error(kind, cat("load_graph: ", path, ": ", error.what()));
  }
}

LoadedProgram::LoadedProgram(const std::string& path, Archive archive)
    : path_(path),
      numbers_(std::move(archive.numbers)),
      results_(std::move(archive.results)),
      result_names_(std::move(archive.result_names)),
      program_(std::make_unique<Program>(std::move(archive.graph), std::move(archive.variables),
                                         std::move(archive.constants))) {}

Tensor LoadedProgram::checked(const Tensor& tensor, const ir::Leaf& input) const {
  TW_CHECK(tensor->dtype == input.value->dtype && tensor->sizes == input.value->sizes, kValue, path_,
           ": input \"", input.name, "\" must be ", ir::type_text(input.value->dtype, input.value->sizes),
           ", got ", ir::type_text(tensor->dtype, tensor->sizes));
  return tensor;
}

std::vector<Tensor> LoadedProgram::run(std::span<const Tensor> inputs,
                                       std::span<const std::pair<std::string, Scalar>> given) {
  const auto& wanted = program_->graph().inputs;
  TW_CHECK(inputs.size() == wanted.size(), kValue, path_, ": ", wanted.size(), " inputs are wanted, got ",
           inputs.size());
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < inputs.size(); i++) tensors.push_back(checked(inputs[i], wanted[i]));
  std::vector<Scalar> now = numbers_.values;
  for (const auto& [name, value] : given) {
    auto at = std::find(numbers_.names.begin(), numbers_.names.end(), name);
    TW_CHECK(at != numbers_.names.end(), kValue, path_, ": there is no number \"", name, "\"");
    now[at - numbers_.names.begin()] = value;
  }
  numbers_.check(now);
  std::vector<Scalar> updated = numbers_.values;
  for (const Numbers::Update& update : numbers_.updates)
    updated[update.number] = evaluate_formula(update.formula, now);
  std::vector<Tensor> outputs = program_->run(tensors, numbers_.of_graph(now));
  numbers_.values = std::move(updated);
  for (Tensor& output : outputs)
    if (!output->contiguous) output = eager::row_major_copy(output);
  return outputs;
}

}  // namespace tw::session

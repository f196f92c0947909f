// A saved graph: a tensor file whose metadata hold the graph's text and what its callers need.
//
//   format         "thalweg graph"
//   version        "1"
//   graph          text of the graph; the file's tensors are its variables and constants, by name
//   results        nested structure of the results, for Python
//   result_names   JSON list of a name for each output of the graph
//   numbers        JSON object, see Numbers
//   sizes          JSON object, see Sizes; only where sizes of inputs may differ
//   places         JSON list of where each output lies; only where one is a global tensor
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "eager/tracer.h"
#include "ir/graph.h"
#include "session/fit_sizes.h"

namespace tw::session {

// Python numbers that a graph reads, and what it makes of them.
struct Numbers {
  struct Update {
    int number;
    std::string formula;
  };
  std::vector<std::string> names;
  std::vector<Scalar> values;                               // when saved
  std::vector<std::string> graph;                           // a formula for each number of the graph
  std::vector<std::pair<std::string, std::string>> guards;  // formulas that must have this value
  std::vector<Update> updates;                              // new values after each run

  // {"names": [..], "values": [..], "graph": [..], "guards": [[formula, value]..], "updates": [[i,
  // formula]..]}; values are formulas too. Throws kValue, also for formulas that do not evaluate.
  static Numbers parse(const std::string& json);
  std::string json;  // that it was parsed from

  std::vector<Scalar> of_graph(const std::vector<Scalar>& now) const;
  // Throws kValue where the graph does not describe its function for these numbers.
  void check(const std::vector<Scalar>& now) const;
};

struct Archive {
  std::unique_ptr<ir::Graph> graph;
  std::vector<eager::Tensor> variables, constants;  // behind the graph's, in the same order
  Numbers numbers;
  Sizes sizes;
  std::string results;
  std::vector<std::string> result_names;
  std::vector<std::string> places;  // of the results, see archive_places.h; none where all are local
};

// Ends a trace that is to be saved: makes `results` the outputs of its graph. The tracer must not be current
// any more. Throws kValue where the call leaves gradients behind that its next call would read.
void finish_trace(eager::Tracer& tracer, const std::vector<eager::Tensor>& results);
// Takes the traced graph, simplified or as it was recorded. Every tensor of the trace must be gone: throws
// kValue where somebody keeps one. Variables and constants of equal names get unlike ones. Of global
// variables it takes the wholes, for which all processes call it. What lies elsewhere is copied to the CPU.
Archive take_archive(eager::Tracer& tracer, bool simplified = true);
// Makes the sizes of an archive vary, whose graph is a trace as it was recorded, at `values`: rules are
// fitted to it and `others`. `checks` are traces too, whose results must have the shapes that the rules give;
// the graph then stands at the sizes of the first of them.
void fit_archive(Archive& archive, std::vector<SizeSymbol> symbols, std::vector<int64_t> values,
                 std::vector<SizedGraph> others, const std::vector<SizedGraph>& checks);

void save_archive(const std::string& path, Archive& archive);
// Throws kOs where the file cannot be read, kValue where it is no such archive; both name the file.
Archive load_archive(const std::string& path);

}  // namespace tw::session

#include "passes/pass.h"

#include <cstdio>
#include <cstdlib>

#include "ir/graph_text.h"
#include "ir/verify.h"

namespace tw::passes {

namespace {

// Is `name` among the names of THALWEG_PRINT_IR? Read anew each time: tests and users change it while
// running.
bool wants_print(std::string_view name) {
  const char* setting = std::getenv("THALWEG_PRINT_IR");
  if (!setting) return false;
  std::string_view rest(setting);
  while (true) {
    size_t comma = rest.find(',');
    std::string_view word = rest.substr(0, comma);
    if (word == name || word == "after_all") return true;
    if (comma == std::string_view::npos) return false;
    rest.remove_prefix(comma + 1);
  }
}

void print(ir::Graph& graph, const std::string& when) {
  std::string text = cat("# ", when, "\n", ir::print_graph(graph), "\n");
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void run_pass(ir::Graph& graph, const Pass& pass) {
  pass.run(graph);
  try {
    ir::verify(graph);
  } catch (const Error& error) {
    TW_FAIL(kInternal, "pass ", pass.name, " broke the graph: ", error.what());
  }
  if (wants_print(pass.name)) print(graph, cat("after ", pass.name));
}

}  // namespace

void run_passes(ir::Graph& graph, std::span<const Pass> passes) {
  for (const Pass& pass : passes) run_pass(graph, pass);
}

void simplify(ir::Graph& graph) {
  if (wants_print("before")) print(graph, "before");
  constexpr int kMostRounds = 4;
  for (int round = 0; round < kMostRounds; round++) {
    size_t before = graph.nodes.size();
    run_passes(graph, simplify_passes());
    if (graph.nodes.size() == before) return;
  }
}

const Pass* find_pass(std::string_view name) {
  for (std::span<const Pass> passes : {simplify_passes(), fuse_passes()})
    for (const Pass& pass : passes)
      if (pass.name == name) return &pass;
  return nullptr;
}

}  // namespace tw::passes

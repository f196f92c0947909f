#include "passes/pass.h"

#include <cstdio>
#include <cstdlib>

#include "ir/control.h"
#include "ir/evaluator.h"
#include "ir/graph_text.h"
#include "ir/verify.h"
#include "passes/memory/memory.h"
#include "passes/sbp/layouts.h"

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

// Regions first: what a pass finds out about them serves the graph around.
void run_inside_out(ir::Graph& graph, const Pass& pass) {
  for (auto& node : graph.nodes)
    for (auto& region : node->regions)
      if (!pass.whole) run_inside_out(*region, pass);
  pass.run(graph);
}

size_t count_nodes(ir::Graph& graph) {
  size_t count = 0;
  ir::for_each_graph(graph, [&](ir::Graph& one) { count += one.nodes.size(); });
  return count;
}

void run_pass(ir::Graph& graph, const Pass& pass) {
  run_inside_out(graph, pass);
  try {
    ir::verify(graph);
  } catch (const Error& error) {
    TW_FAIL(kInternal, "pass ", pass.name, " broke the graph: ", error.what());
  }
  if (wants_print(pass.name)) print(graph, cat("after ", pass.name));
}

// Without an Evaluator nothing is known of kernels.
bool suits(const Pass& pass, const std::string& device) {
  ir::Evaluator* evaluator = ir::Evaluator::current();
  return !pass.makes || !evaluator || evaluator->has_kernel(ir::registry().get(pass.makes), device);
}

}  // namespace

void run_passes(ir::Graph& graph, std::span<const Pass> passes) {
  for (const Pass& pass : passes)
    if (suits(pass, graph.device)) run_pass(graph, pass);
}

void simplify(ir::Graph& graph) {
  if (wants_print("before")) print(graph, "before");
  constexpr int kMostRounds = 4;
  for (int round = 0; round < kMostRounds; round++) {
    size_t before = count_nodes(graph);
    run_passes(graph, simplify_passes());
    if (count_nodes(graph) == before) return;
  }
}

std::span<const Pass> final_passes() {
  static constexpr Pass kPasses[] = {{"hoist_literals", hoist_literals}};
  return kPasses;
}

std::span<const Pass> layout_passes(bool processes) {
  static constexpr Pass kPasses[] = {{"place_literals", place_literals, true},
                                     {"choose_layouts", choose_layouts, true},
                                     {"gather_boxings", gather_boxings}};
  static constexpr Pass kOfProcesses[] = {{"place_literals", place_literals, true},
                                          {"choose_layouts", choose_layouts_of_processes, true},
                                          {"gather_boxings", gather_boxings}};
  return processes ? kOfProcesses : kPasses;
}

std::span<const Pass> meeting_passes() {
  static constexpr Pass kPasses[] = {{"bucket_boxings", bucket_boxings}};
  return kPasses;
}

const Pass* find_pass(std::string_view name) {
  for (std::span<const Pass> passes :
       {simplify_passes(), final_passes(), layout_passes(), meeting_passes(), fuse_passes()})
    for (const Pass& pass : passes)
      if (pass.name == name) return &pass;
  return nullptr;
}

}  // namespace tw::passes

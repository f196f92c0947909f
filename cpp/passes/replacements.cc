#include "passes/replacements.h"

namespace tw::passes {

void Replacements::finish() {
  for (ir::Value& output : graph_.outputs) update(output);
  for (ir::Assignment& assignment : graph_.assignments) update(assignment.value);
  std::erase_if(graph_.nodes, [&](const std::unique_ptr<ir::Node>& node) {
    if (node->outputs.empty()) return false;
    for (const ir::GraphRef& output : node->outputs)
      if (!by_[output->id]) return false;
    return true;
  });
}

}  // namespace tw::passes

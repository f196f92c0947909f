#include "passes/uniform.h"

#include <string_view>
#include <unordered_set>

namespace tw::passes {

void Uniform::learn(const ir::Node& node) {
  static const std::unordered_set<std::string_view> kMoves = {"expand",    "reshape", "view",      "squeeze",
                                                              "unsqueeze", "clone",   "transpose", "permute",
                                                              "slice",     "select",  "row_major"};
  if (node.outputs.size() != 1) return;
  const ir::GraphValue& output = *node.outputs[0];
  if (node.def->schema.name == "full") {
    if (node.lifted.empty())
      set(output, std::get<Scalar>(ir::read_attr(node.def->schema.params[1].field, node.attrs.get())));
  } else if (node.def->schema.name == "zero") {
    set(output, Scalar(0));
  } else if (node.inputs.size() == 1 && kMoves.contains(node.def->schema.name)) {
    by_id_[output.id] = of(node.inputs[0]);
  }
}

}  // namespace tw::passes

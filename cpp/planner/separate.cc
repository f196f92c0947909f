// One walk over the nodes, whose devices are known (devices.h): an input that lies elsewhere gives way to a
// copy on the node's device. Operands of control flow that belong to no rank are named after the device that
// they lie on, and such results lie where the first of its regions makes them, so that all regions, and what
// is around, say the same.
#include "planner/separate.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "ir/control.h"
#include "ir/layouts.h"
#include "ops/boxing/boxing_part.h"
#include "planner/devices.h"

namespace tw::planner {

namespace {

using ir::Node;
using ir::Value;

class Separator {
 public:
  explicit Separator(ir::Graph& graph)
      : graph_(graph), count_(graph.number()), devices_(find_devices(graph)) {}

  void run() {
    std::vector<std::unique_ptr<Node>> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (auto& node : nodes) {
      graph_.place = {node->module, node->origin};
      if (!node->regions.empty())
        enter(*node);
      else if (!node->def->view && !ir::is_boxing_part(*node->def))
        bring_inputs(*node);
      graph_.nodes.push_back(std::move(node));
    }
    graph_.place = {};
    for (size_t i = 0; i < graph_.outputs.size(); i++)
      if (graph_.output_ranks[i] >= 0) bring(graph_.outputs[i], device_of(graph_.output_ranks[i]));
    for (ir::Assignment& one : graph_.assignments)
      bring(one.value, of(*graph_.variables[one.variable].value));
  }

 private:
  int of(const ir::ValueImpl& value) const {
    const auto& one = static_cast<const ir::GraphValue&>(value);
    return one.id >= 0 && one.id < count_ ? devices_.of(value) : made_on_.at(&value);
  }
  int device_of(int64_t rank) const {
    return static_cast<int>(std::ranges::find(devices_.ranks, rank) - devices_.ranks.begin());
  }

  void bring_inputs(Node& node) {
    int device = -1;
    for (const ir::GraphRef& output : node.outputs)
      if (device < 0) device = of(*output);
    for (const Value& input : node.inputs)
      if (input && device < 0) device = of(*input);
    for (Value& input : node.inputs)
      if (input) bring(input, device);
  }

  void bring(Value& value, int device) {
    if (of(*value) == device) return;
    Value& known = brought_[{value.get(), device}];
    if (!known) known = made_of_nothing(*value) ? made_again(value, device) : sent(value, device);
    value = known;
  }

  bool made_of_nothing(const ir::ValueImpl& value) const {
    const Node* node = static_cast<const ir::GraphValue&>(value).node;
    if (!node || !node->regions.empty() || ir::is_boxing_part(*node->def)) return false;
    return std::ranges::all_of(node->inputs,
                               [&](const Value& input) { return !input || made_of_nothing(*input); });
  }

  // New values have no number, which says that they are not among those that were found.
  void note(Node& made, int device) {
    for (const ir::GraphRef& output : made.outputs) made_on_[output.get()] = device;
  }

  Value made_again(const Value& value, int device) {
    const ir::GraphValue& known = ir::graph_value(value);
    const Node& node = *known.node;
    ir::Values inputs(node.inputs);
    for (Value& input : inputs)
      if (input) bring(input, device);
    ir::PlaceOf place(graph_, node);
    Node& made = graph_.append(*node.def, {inputs.data(), inputs.size()},
                               {node.starts.begin(), node.starts.size()}, node.attrs.get());
    made.lifted = node.lifted;
    note(made, device);
    return made.outputs[known.output];
  }

  Value sent(const Value& value, int device) {
    static const ir::OpDef& def = ir::registry().get("boxing_part");
    const int64_t from = devices_.ranks[of(*value)], to = devices_.ranks[device];
    auto on = [](int64_t rank) {
      return sbp::name_of(*sbp::layout(sbp::placement("cuda", {1}, {rank}), {sbp::broadcast()}));
    };
    ops::BoxingPartAttrs attrs{on(from), on(to), {}, value->dtype, {from, to}, 0};
    attrs.size.append(value->sizes.begin(), value->sizes.end());
    const int starts[] = {0, 1};
    Node& made = graph_.append(def, {&value, 1}, starts, &attrs);
    note(made, device);
    return made.outputs[0];
  }

  // --- control flow ---

  void enter(Node& node) {
    const bool loop = ir::control_kind(*node.def) == ir::ControlKind::kLoop;
    const size_t deciding = loop ? 2 : 1;
    for (size_t i = 0; i < node.regions[0]->inputs.size(); i++) {
      Value& operand = node.inputs[deciding + i];
      const int64_t rank = rank_in_name(node.regions[0]->inputs[i].name);
      if (rank >= 0) bring(operand, device_of(rank));
      for (auto& region : node.regions)
        if (rank < 0) region->inputs[i].name += cat('@', devices_.ranks[of(*operand)]);
    }
    ir::Graph& first = *node.regions[0];
    const size_t skipped = loop && node.inputs[0] ? 1 : 0;
    for (size_t i = skipped; i < first.outputs.size(); i++) {
      const int64_t rank = devices_.ranks[of(*node.outputs[i - skipped])];
      for (auto& region : node.regions) region->output_ranks[i] = rank;
    }
    for (auto& region : node.regions) Separator(*region).run();
  }

  ir::Graph& graph_;
  const int count_;
  const Devices devices_;
  std::unordered_map<const ir::ValueImpl*, int> made_on_;  // new values
  std::map<std::pair<const ir::ValueImpl*, int>, Value> brought_;
};

}  // namespace

void separate_devices(ir::Graph& graph) {
  if (graph.ranks.size() > 1) Separator(graph).run();
}

}  // namespace tw::planner

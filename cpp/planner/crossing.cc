// One walk: each node gets an *anchor*, the node that it stands right behind; nodes with one anchor keep the
// order they had. A boxing's is the last node that makes what it reads, or the boxing before it; views of
// what is there early come along, since a boxing may read them. All others stay where they are.
#include "planner/crossing.h"

#include <algorithm>

#include "ir/layouts.h"
#include "ops/boxing/boxing_part.h"
#include "sbp/boxing.h"

namespace tw::planner {

namespace {

bool crosses(const ir::Node& node) {
  if (!ir::is_boxing_part(*node.def)) return false;
  const auto& a = *static_cast<const ops::BoxingPartAttrs*>(node.attrs.get());
  auto layout_of = [](const std::string& text) {
    ir::TextLexer lexer(text);
    return ir::parse_layout(lexer);
  };
  sbp::BoxingPlanRef plan =
      sbp::plan_boxing(layout_of(a.source), layout_of(a.target), a.size, size_of(a.dtype));
  auto mine = [&](int64_t rank) { return std::ranges::find(a.ranks, rank) != a.ranks.end(); };
  const bool on_devices = plan->from->placement->type != "cpu";
  return plan->bytes > 0 && (on_devices || !std::ranges::all_of(plan->ranks, mine));
}

}  // namespace

std::unordered_set<const ir::Node*> find_crossings(const ir::Graph& graph) {
  std::unordered_set<const ir::Node*> crossings;
  for (const auto& node : graph.nodes)
    if (crosses(*node)) crossings.insert(node.get());
  return crossings;
}

namespace {

bool meets(const ir::Graph& region) {
  for (const auto& node : region.nodes) {
    if (crosses(*node)) return true;
    for (const auto& inside : node->regions)
      if (meets(*inside)) return true;
  }
  return false;
}

}  // namespace

std::unordered_set<const ir::Node*> find_meetings(const ir::Graph& graph) {
  std::unordered_set<const ir::Node*> meetings;
  for (const auto& node : graph.nodes)
    for (const auto& region : node->regions)
      if (meets(*region)) meetings.insert(node.get());
  return meetings;
}

Order early_order(const Order& order) {
  const auto count = static_cast<int>(order.commit);
  std::vector<int> made_at, anchors(count);  // of values by number, -1 for leaves; of nodes
  std::vector<char> late;                    // of values: a boxing's, or seen in one
  auto set = [&](const ir::GraphValue& value, int at, bool is_late) {
    if (static_cast<size_t>(value.id) >= made_at.size())
      made_at.resize(value.id + 1, -1), late.resize(value.id + 1);
    made_at[value.id] = at;
    late[value.id] = is_late;
  };
  auto get = [](const auto& list, const ir::Value& value, auto otherwise) {
    auto id = static_cast<size_t>(ir::graph_value(value).id);
    return id < list.size() ? list[id] : otherwise;
  };
  int meeting = -1;  // the anchor of the last boxing
  for (int i = 0; i < count; i++) {
    const ir::Node& node = *order.nodes[i];
    bool crossing = order.crossings.contains(&node), after_boxing = false;
    int ready = -1;
    for (const ir::Value& input : node.inputs) {
      if (!input) continue;
      ready = std::max(ready, get(made_at, input, -1));
      after_boxing |= get(late, input, char{0}) != 0;
    }
    anchors[i] = i;
    if (crossing) anchors[i] = meeting = std::max(ready, meeting);
    if (order.meetings.contains(&node)) meeting = i;
    if (node.def->view && !after_boxing) anchors[i] = ready;
    for (const ir::GraphRef& output : node.outputs)
      set(*output, anchors[i], crossing || (node.def->view && after_boxing));
  }
  // By anchor, and within one in the order they had.
  std::vector<int> begin(count + 2, 0);
  for (int anchor : anchors) begin[anchor + 2]++;
  for (int i = 0; i <= count; i++) begin[i + 1] += begin[i];
  Order result = order;
  for (int i = 0; i < count; i++) result.nodes[begin[anchors[i] + 1]++] = order.nodes[i];
  return result;
}

}  // namespace tw::planner

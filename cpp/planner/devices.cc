// Stages: (1) boxings and the names of leaves say what they know; (2) forwards, a node that boxes nothing
// runs where its inputs lie, the first of them where they disagree (one of them belongs to all); (3) outputs
// of which it is said, and backwards, what nothing is known of lies where it is read. What is left lies on
// the first device.
#include "planner/devices.h"

#include <algorithm>
#include <charconv>

#include "ir/layouts.h"
#include "ops/boxing/boxing_part.h"

namespace tw::planner {

namespace {

class Finder {
 public:
  explicit Finder(const ir::Graph& graph) : graph_(graph) {
    result_.ranks = graph.ranks;
    if (graph.ranks.empty()) note_all(graph);
    std::ranges::sort(result_.ranks);
  }
  // A region of a graph whose devices are known.
  Finder(const ir::Graph& region, std::vector<int64_t> ranks) : graph_(region) {
    result_.ranks = std::move(ranks);
  }

  Devices run() {
    for (const auto* leaves : {&graph_.inputs, &graph_.variables, &graph_.constants})
      for (const ir::Leaf& leaf : *leaves) set(*leaf.value, rank_of(leaf.name));
    if (result_.ranks.size() > 1) {
      for (const auto& node : graph_.nodes) forward(*node);
      for (size_t i = 0; i < graph_.output_ranks.size(); i++)
        if (graph_.output_ranks[i] >= 0) set(*graph_.outputs[i], device_of(graph_.output_ranks[i]));
      for (size_t i = graph_.nodes.size(); i-- > 0;) backward(*graph_.nodes[i]);
    }
    for (const auto& node : graph_.nodes)
      for (const ir::GraphRef& output : node->outputs) set(*output, kUnknown);
    for (int& device : result_.of_value) device = std::max(device, 0);
    return std::move(result_);
  }

 private:
  static constexpr int kUnknown = -1;

  static const ops::BoxingPartAttrs& attrs_of(const ir::Node& node) {
    return *static_cast<const ops::BoxingPartAttrs*>(node.attrs.get());
  }
  void note_all(const ir::Graph& graph) {
    for (const auto& node : graph.nodes) {
      if (ir::is_boxing_part(*node->def)) note_ranks(attrs_of(*node));
      for (const auto& region : node->regions) note_all(*region);
    }
  }
  void note_ranks(const ops::BoxingPartAttrs& a) {
    for (int64_t rank : a.ranks)
      if (std::ranges::find(result_.ranks, rank) == result_.ranks.end()) result_.ranks.push_back(rank);
  }

  int device_of(int64_t rank) const {
    auto at = std::ranges::find(result_.ranks, rank);
    return at == result_.ranks.end() ? kUnknown : static_cast<int>(at - result_.ranks.begin());
  }
  int rank_of(const std::string& leaf) const {
    const int64_t rank = rank_in_name(leaf);
    return rank < 0 ? kUnknown : device_of(rank);
  }

  // What is known stays.
  void set(const ir::ValueImpl& value, int device) {
    auto id = static_cast<size_t>(static_cast<const ir::GraphValue&>(value).id);
    if (id >= result_.of_value.size()) result_.of_value.resize(id + 1, kUnknown);
    if (result_.of_value[id] == kUnknown) result_.of_value[id] = device;
  }
  int known(const ir::Value& value) {
    set(*value, kUnknown);
    return result_.of(*value);
  }

  void forward(const ir::Node& node) {
    if (ir::is_boxing_part(*node.def)) {
      const ops::BoxingPartAttrs& a = attrs_of(node);
      size_t next = 0;
      for_each_rank(a, a.source, [&](int device) { set(*node.inputs[next++], device); });
      next = 0;
      for_each_rank(a, a.target, [&](int device) { set(*node.outputs[next++], device); });
      return;
    }
    if (!node.regions.empty()) return forward_control(node);
    int device = kUnknown;
    for (const ir::Value& input : node.inputs)
      if (input && device == kUnknown) device = known(input);
    for (const ir::GraphRef& output : node.outputs) set(*output, device);
  }

  // Results lie where the region makes them.
  void forward_control(const ir::Node& node) {
    ir::Graph& region = *node.regions[0];
    region.number();
    Finder finder(region, result_.ranks);
    const size_t deciding = node.inputs.size() - region.inputs.size();
    for (size_t i = 0; i < region.inputs.size(); i++)
      if (rank_in_name(region.inputs[i].name) < 0)
        finder.set(*region.inputs[i].value, known(node.inputs[deciding + i]));
    const Devices inside = finder.run();
    const size_t skipped = region.outputs.size() - node.outputs.size();  // whether a loop goes on
    for (size_t i = 0; i < node.outputs.size(); i++) {
      const size_t k = i + skipped;
      const int64_t said = region.output_ranks.empty() ? -1 : region.output_ranks[k];
      set(*node.outputs[i], said >= 0 ? device_of(said) : inside.of(*region.outputs[k]));
    }
  }

  void backward(const ir::Node& node) {
    if (ir::is_boxing_part(*node.def) || !node.regions.empty() || node.outputs.empty()) return;
    int device = known(node.outputs[0]);
    for (const ir::Value& input : node.inputs)
      if (input) set(*input, device);
  }

  // The devices of this process in a placement, in its order.
  template <class Body>
  void for_each_rank(const ops::BoxingPartAttrs& a, const std::string& layout, const Body& body) const {
    ir::TextLexer lexer(layout);
    for (int64_t rank : ir::parse_layout(lexer)->placement->ranks)
      if (std::ranges::find(a.ranks, rank) != a.ranks.end()) body(device_of(rank));
  }

  const ir::Graph& graph_;
  Devices result_;
};

}  // namespace

int64_t rank_in_name(const std::string& leaf) {
  const size_t at = leaf.rfind('@');
  int64_t rank = -1;
  if (at == std::string::npos) return -1;
  auto [end, error] = std::from_chars(leaf.data() + at + 1, leaf.data() + leaf.size(), rank);
  return error == std::errc() && end == leaf.data() + leaf.size() ? rank : -1;
}

Devices find_devices(const ir::Graph& graph) { return Finder(graph).run(); }

Devices devices_of_region(ir::Graph& graph) {
  if (graph.ranks.size() > 1) return find_devices(graph);
  Devices one;
  one.of_value.assign(static_cast<size_t>(graph.number()), 0);
  return one;
}

}  // namespace tw::planner

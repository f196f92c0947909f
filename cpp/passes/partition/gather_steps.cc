// One walk over the graph with a set of open groups. Stages of a node: (1) what it reads closes the groups
// that made it, unless the node goes on with them; (2) a step joins the open group of its kind, or opens one;
// (3) when all have been seen, the last node of each group takes in the others.
#include "passes/partition/gather_steps.h"

#include <algorithm>
#include <optional>

#include "ir/attr_text.h"

namespace tw::passes {

namespace {

using ir::Node;
using ir::Param;
using ir::ValueImpl;

// Its lists hold one tensor, or none.
bool is_step(const Node& node) {
  const ir::OpDef& def = *node.def;
  if (!def.mutated_params || !def.sbp_rule || node.starts.empty()) return false;
  if (def.schema.params[0].kind != ir::ParamKind::kTensorList) return false;
  for (const Param& param : def.schema.params) {
    const int j = param.tensor_index;
    const int count = j < 0 ? 0 : node.starts[j + 1] - node.starts[j];
    if (count > 1 || (j == 0 && count == 0)) return false;
  }
  return true;
}

bool is_mutated(const ir::OpDef& def, int tensor_param) { return def.mutated_params >> tensor_param & 1; }

// The output that stands for the written tensor of a parameter.
size_t output_of(const Node& node, int tensor_param) {
  const std::vector<int> written = ir::mutated_inputs(node);
  return std::ranges::find(written, node.starts[tensor_param]) - written.begin();
}

class Gatherer {
 public:
  Gatherer(ir::Graph& graph, const std::vector<NodePlace>& places)
      : graph_(graph),
        places_(places),
        waited_(graph.number()),
        uses_(waited_.size()),
        made_by_(waited_.size(), -1) {}

  void run() {
    count_uses();
    for (size_t i = 0; i < graph_.nodes.size(); i++) visit(i);
    std::vector<char> gone(graph_.nodes.size());
    for (const Group& group : groups_) put_together(group, &gone);
    size_t i = 0;
    std::erase_if(graph_.nodes, [&](const auto&) { return gone[i++] != 0; });
  }

 private:
  struct Group {
    std::vector<size_t> members;  // numbers of nodes
    size_t rank;
    int waited;  // the last crossing that they have waited for
    bool open = true;
  };

  static int id_of(const ir::Value& value) { return ir::graph_value(value).id; }

  void count_uses() {
    for (const auto& node : graph_.nodes)
      for (const ir::Value& input : node->inputs)
        if (input) uses_[id_of(input)]++;
    for (const ir::Value& output : graph_.outputs) uses_[id_of(output)]++;
    for (const ir::Assignment& one : graph_.assignments) uses_[id_of(one.value)]++;
  }

  void visit(size_t number) {
    const Node& node = *graph_.nodes[number];
    int waited = places_[number].crosses ? ++crossings_ : 0;
    for (const ir::Value& input : node.inputs)
      if (input) waited = std::max(waited, waited_[id_of(input)]);
    for (const ir::GraphRef& output : node.outputs) waited_[output->id] = waited;
    const std::optional<size_t> joined =
        is_step(node) ? group_for(node, places_[number].rank, waited) : std::nullopt;
    for (const ir::Value& input : node.inputs)
      if (input && made_by_[id_of(input)] >= 0 &&
          (!joined || made_by_[id_of(input)] != static_cast<int>(*joined)))
        groups_[made_by_[id_of(input)]].open = false;
    if (!is_step(node)) return;
    const size_t group = joined.value_or(groups_.size());
    if (!joined) groups_.push_back({{}, places_[number].rank, waited});
    groups_[group].members.push_back(number);
    for (const ir::GraphRef& output : node.outputs) made_by_[output->id] = static_cast<int>(group);
  }

  // An open group that the node may join. Groups are few: one for each rank and kind of step.
  std::optional<size_t> group_for(const Node& node, size_t rank, int waited) const {
    for (size_t g = groups_.size(); g-- > 0;) {
      const Group& group = groups_[g];
      if (group.open && group.rank == rank && group.waited == waited && fits(group, node)) return g;
    }
    return std::nullopt;
  }

  bool fits(const Group& group, const Node& node) const {
    const Node& last = *graph_.nodes[group.members.back()];
    if (last.def != node.def || !same_attributes(last, node)) return false;
    for (const Param& param : node.def->schema.params) {
      const int j = param.tensor_index;
      if (j < 0) continue;
      if (last.starts[j + 1] - last.starts[j] != node.starts[j + 1] - node.starts[j]) return false;
      if (param.kind == ir::ParamKind::kTensorList ? touches(group, node, j) : !goes_on(last, node, j))
        return false;
    }
    return true;
  }

  // Whether the node's tensor of a list is one that the group makes.
  bool touches(const Group& group, const Node& node, int j) const {
    if (node.starts[j] == node.starts[j + 1]) return false;
    const int by = made_by_[id_of(node.inputs[node.starts[j]])];
    return by >= 0 && &groups_[by] == &group;
  }

  // What all share: the same tensor or, where it is written, what the last one has left for this one alone.
  bool goes_on(const Node& last, const Node& node, int j) const {
    const ir::Value& input = node.inputs[node.starts[j]];
    if (!is_mutated(*node.def, j)) return input.get() == last.inputs[last.starts[j]].get();
    return input && input.get() == last.outputs[output_of(last, j)].get() && uses_[id_of(input)] == 1;
  }

  // Lists of numbers have one for each tensor; all else is the same for all.
  static bool same_attributes(const Node& a, const Node& b) {
    for (const Param& param : a.def->schema.params)
      if (param.kind == ir::ParamKind::kAttr && param.field.kind != ir::AttrKind::kIntList &&
          !ir::same_attr(ir::read_attr(param.field, a.attrs.get()),
                         ir::read_attr(param.field, b.attrs.get())))
        return false;
    auto shared = [](const Node& node) {
      std::vector<std::pair<int, int>> numbers;
      for (const ir::Lifted& one : node.lifted)
        if (one.item < 0) numbers.emplace_back(one.param, one.number);
      return numbers;
    };
    return shared(a) == shared(b);
  }

  void put_together(const Group& group, std::vector<char>* gone) {
    if (group.members.size() == 1) return;
    std::vector<Node*> all;
    for (size_t member : group.members) {
      all.push_back(graph_.nodes[member].get());
      (*gone)[member] = member != group.members.back();
    }
    const Node& last = *all.back();
    auto made = std::make_unique<Node>(*last.def, last.attrs.get());
    take_tensors(all, made.get());
    take_numbers(all, made.get());
    made->module = last.module;
    made->origin = last.origin;
    for (size_t o = 0; o < made->outputs.size(); o++) {
      made->outputs[o]->node = made.get();
      made->outputs[o]->output = static_cast<int>(o);
    }
    // The others stay until the walk is over: groups of other ranks may stand between them.
    graph_.nodes[group.members.back()].swap(made);
    replaced_.push_back(std::move(made));
  }

  static void take_tensors(const std::vector<Node*>& all, Node* made) {
    const Node &first = *all.front(), &last = *all.back();
    for (const Param& param : last.def->schema.params) {
      const int j = param.tensor_index;
      if (j < 0) continue;
      made->starts.push_back(static_cast<int>(made->inputs.size()));
      const bool list = param.kind == ir::ParamKind::kTensorList;
      if (list && last.starts[j] == last.starts[j + 1]) continue;
      for (const Node* one : all) {
        if (list || one == &first) made->inputs.push_back(one->inputs[one->starts[j]]);
        if (is_mutated(*one->def, j) && (list || one == &last))
          made->outputs.push_back(one->outputs[output_of(*one, j)]);
      }
    }
    made->starts.push_back(static_cast<int>(made->inputs.size()));
  }

  static void take_numbers(const std::vector<Node*>& all, Node* made) {
    const auto& params = made->def->schema.params;
    for (const Param& param : params) {
      if (param.kind != ir::ParamKind::kAttr || param.field.kind != ir::AttrKind::kIntList) continue;
      IntList numbers;
      for (const Node* one : all) {
        const auto own = std::get<IntList>(ir::read_attr(param.field, one->attrs.get()));
        numbers.append(own.begin(), own.end());
      }
      ir::write_attr(param.field, made->attrs.get(), numbers, made->def->name(), param.name.c_str());
    }
    for (size_t i = 0; i < all.size(); i++)
      for (const ir::Lifted& one : all[i]->lifted)
        if (one.item >= 0)
          made->lifted.push_back({one.param, static_cast<int>(i), one.number});
        else if (i == 0)
          made->lifted.push_back(one);
  }

  ir::Graph& graph_;
  const std::vector<NodePlace>& places_;
  int crossings_ = 0;
  std::vector<int> waited_, uses_, made_by_;  // by values: the last crossing, uses, and the group
  std::vector<Group> groups_;
  std::vector<std::unique_ptr<Node>> replaced_;
};

}  // namespace

void gather_steps(ir::Graph& graph, const std::vector<NodePlace>& places) { Gatherer(graph, places).run(); }

}  // namespace tw::passes

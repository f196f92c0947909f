// Gathers ops that treat rows by themselves into one node, which runs them on some rows after the other.
//
//   %3 = mul(%0, %1) : float32[4096, 1024]
//   %4 = gelu(%3) : float32[4096, 1024]
//   return %4
// →
//   %3 = by_rows([%0, %1], body="graph ... ", over=[-1]) : float32[4096, 1024]
//   return %3
//
// Rows (row_space.h) are what stays in the cache from one op to the next. A group holds pointwise ops, norms
// and softmax over the last dim with their gradients, and sums over rows, all of one shape. It grows along
// the order of the nodes: a node joins the group of a node that it reads, or of one that reads the same
// value, as long as nothing else that it reads depends on the group. Small tensors stay as they are: they are
// in the cache anyway.
//
// The bodies' kernels are those of the ops, and sums are taken in the order of theirs, so that no bit
// changes.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/graph_text.h"
#include "ops/fused/by_rows.h"
#include "passes/fuse/fuse.h"
#include "passes/fuse/row_body.h"
#include "passes/fuse/row_space.h"

namespace tw::passes {

namespace {

using ir::Node;
using ir::Value;

constexpr int64_t kFewestBytes = 256 << 10;  // of a result
constexpr int64_t kFewestRows = 16, kFewestImages = 4;
constexpr int kWindow = 64;  // nodes, from the first of a group to its last
constexpr size_t kMostNodes = 24;

class Groups {
 public:
  explicit Groups(ir::Graph& graph) : graph_(graph) {
    graph.number();
    for (size_t i = 0; i < graph.nodes.size(); i++) position_[graph.nodes[i].get()] = static_cast<int>(i);
  }

  std::vector<RowGroup> find() {
    for (int i = 0; i < static_cast<int>(graph_.nodes.size()); i++) place(i);
    drop_cyclic();
    std::vector<RowGroup> result;
    for (RowGroup& group : groups_)
      if (group.nodes.size() > 1) result.push_back(std::move(group));
    return result;
  }

 private:
  // What `depends` does not see, since it does not look back for ever: groups that wait for each other stay
  // apart.
  void drop_cyclic() {
    size_t nodes = graph_.nodes.size();
    auto unit = [&](const Node* node) {
      int group = group_of(node);
      return group < 0 ? static_cast<size_t>(position_.at(node)) : nodes + static_cast<size_t>(group);
    };
    std::vector<std::vector<size_t>> readers(nodes + groups_.size());
    std::vector<int> waits(readers.size());
    for (auto& node : graph_.nodes)
      for (const Value& given : node->inputs) {
        int group = group_of(node.get());
        const Node* made_by = maker(group < 0 ? given : operand(given, groups_[group].space));
        if (!made_by || unit(made_by) == unit(node.get())) continue;
        readers[unit(made_by)].push_back(unit(node.get()));
        waits[unit(node.get())]++;
      }
    std::vector<size_t> ready;
    for (size_t i = 0; i < waits.size(); i++)
      if (waits[i] == 0) ready.push_back(i);
    for (size_t i = 0; i < ready.size(); i++)
      for (size_t reader : readers[ready[i]])
        if (--waits[reader] == 0) ready.push_back(reader);
    for (size_t i = 0; i < groups_.size(); i++)
      if (waits[nodes + i] > 0) groups_[i].nodes.clear();
  }

  static const Node* maker(const Value& value) { return value ? ir::graph_value(value).node : nullptr; }
  static const Value& operand(const Value& value, const RowSpace& space) {
    return space.folded ? row_source(value) : value;
  }
  int group_of(const Node* node) const {
    auto at = group_.find(node);
    return at == group_.end() ? -1 : at->second;
  }

  // All operands fit the rows, and the tensors are worth it.
  static bool fits(const Node& node, RowRole role, const RowSpace& space) {
    const Dims& shape = space.sizes;
    if (shape.size() < 2 || (!space.folded && role != RowRole::kPointwise)) return false;
    if (space.rows < (space.folded ? kFewestRows : kFewestImages)) return false;
    int64_t bytes = numel(shape) * size_of(node.inputs[0]->dtype);
    if (bytes < kFewestBytes) return false;
    Dims body;
    for (const Value& input : node.inputs)
      if (input && (!space.shape_of(input->sizes, &body) || lies_otherwise(input, space))) return false;
    return true;
  }

  // Rows must lie one after the other: else folding copies, and tiles gather.
  static bool lies_otherwise(const Value& value, const RowSpace& space) {
    if (!space.folded || value->rank() < 2) return false;
    for (const Node* node = maker(value); node && node->def->view; node = maker(node->inputs[0])) {
      const std::string& name = node->def->schema.name;
      if (name != "reshape" && name != "view" && name != "unsqueeze" && name != "squeeze") return true;
    }
    return false;
  }

  void place(int number) {
    Node& node = *graph_.nodes[number];
    RowRole role = row_role(node);
    if (role == RowRole::kNone) return;
    RowSpace space(worked_on(node, role));
    if (!fits(node, role, space)) return;
    std::unordered_set<int> tried;
    auto try_group = [&](int group) {
      return group >= 0 && tried.insert(group).second && joins(number, node, role, space, group);
    };
    bool joined = false;
    for (const Value& given : node.inputs) {
      const Value& input = operand(given, space);
      joined = joined || try_group(group_of(maker(input)));
      auto reader = input ? reader_.find(input.get()) : reader_.end();
      if (reader != reader_.end()) joined = joined || try_group(reader->second);
    }
    if (!joined && role == RowRole::kSum) return;
    if (!joined) {
      groups_.push_back({space, {}});
      add(node, static_cast<int>(groups_.size()) - 1);
    }
  }

  bool joins(int number, Node& node, RowRole role, const RowSpace& space, int group) {
    RowGroup& target = groups_[group];
    int first = position_.at(target.nodes.front());
    if (!(target.space == space) || number - first > kWindow || target.nodes.size() >= kMostNodes)
      return false;
    bool reads_member = false;
    for (const Value& given : node.inputs) {
      const Value& input = operand(given, space);
      const Node* made_by = maker(input);
      if (group_of(made_by) == group) {
        if (is_row_sum(*made_by, ir::graph_value(input).output)) return false;
        reads_member = true;
      } else if (made_by && depends(made_by, group, first)) {
        return false;
      }
    }
    if (role == RowRole::kSum && !reads_member) return false;
    add(node, group);
    return true;
  }

  void add(Node& node, int group) {
    groups_[group].nodes.push_back(&node);
    group_[&node] = group;
    for (const Value& given : node.inputs) {
      const Value& input = operand(given, groups_[group].space);
      if (input && numel(input->sizes) == numel(groups_[group].space.sizes)) reader_[input.get()] = group;
    }
  }

  // Does `node`, outside of the group, need something that the group makes? Members of other groups need what
  // their groups need.
  bool depends(const Node* node, int group, int first) const {
    std::vector<const Node*> stack = {node};
    std::unordered_set<const Node*> seen;
    while (!stack.empty()) {
      const Node* at = stack.back();
      stack.pop_back();
      int other = group_of(at);
      if (other == group) return true;
      if (!seen.insert(at).second) continue;
      if (other < 0) {
        if (position_.at(at) > first - kWindow) push_makers(*at, &stack);
      } else if (position_.at(groups_[other].nodes.back()) > first - kWindow) {
        for (const Node* member : groups_[other].nodes)
          if (seen.insert(member).second || member == at) push_makers(*member, &stack);
      }
    }
    return false;
  }
  static void push_makers(const Node& node, std::vector<const Node*>* stack) {
    for (const Value& input : node.inputs)
      if (const Node* made_by = maker(input)) stack->push_back(made_by);
  }

  ir::Graph& graph_;
  std::unordered_map<const Node*, int> position_, group_;
  std::unordered_map<const ir::ValueImpl*, int> reader_;  // the group that read a value last
  std::vector<RowGroup> groups_;
};

// Writes the graph anew: a group stands where the first that needs it does, or at its last node.
class Writer {
 public:
  Writer(ir::Graph& graph, const std::vector<RowGroup>& groups) : graph_(graph), groups_(groups) {
    for (size_t i = 0; i < groups.size(); i++)
      for (const Node* node : groups[i].nodes) group_[node] = static_cast<int>(i);
    done_.resize(groups.size());
    for (const Value& output : graph.outputs) use(output, nullptr);
    for (const ir::Assignment& assignment : graph.assignments) use(assignment.value, nullptr);
    for (size_t i = graph.nodes.size(); i-- > 0;) {
      const Node* node = graph.nodes[i].get();
      if (node->outputs.empty()) needed_.insert(node);
      if (!needed_.count(node)) continue;
      for (const Value& input : node->inputs) use(input, node);
    }
  }

  void run() {
    old_ = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (auto& node : old_) owned_[node.get()] = &node;
    for (size_t i = 0; i < old_.size(); i++) {
      const Node* node = old_[i].get();
      if (!node || !needed_.count(node))
        continue;  // written already, or a shape that only the groups' nodes read
      auto group = group_.find(node);
      if (group == group_.end()) {
        write_before(node);
      } else if (groups_[group->second].nodes.back() == node) {
        write_group(group->second);
      }
    }
    for (Value& output : graph_.outputs) update(output);
    for (ir::Assignment& assignment : graph_.assignments) update(assignment.value);
  }

 private:
  // What a node reads: members of a folded group see through other shapes.
  const Value& seen_by(const Node* node, const Value& given) const {
    auto member = node ? group_.find(node) : group_.end();
    return given && member != group_.end() && groups_[member->second].space.folded ? row_source(given)
                                                                                   : given;
  }

  void use(const Value& given, const Node* by) {
    const Value& value = seen_by(by, given);
    const Node* made_by = value ? ir::graph_value(value).node : nullptr;
    if (!made_by) return;
    needed_.insert(made_by);
    auto group = group_.find(made_by);
    if (group == group_.end()) return;
    auto member = by ? group_.find(by) : group_.end();
    if (member == group_.end() || member->second != group->second) outside_.insert(value.get());
  }

  void update(Value& value) {
    auto at = value ? by_.find(value.get()) : by_.end();
    if (at != by_.end()) value = at->second;
  }

  // The node, or its group, with everything that it needs before it.
  void write_before(const Node* node) {
    auto group = group_.find(node);
    if (group != group_.end()) return write_group(group->second);
    auto owned = owned_.find(node);
    if (owned == owned_.end() || !*owned->second) return;  // a leaf's, or written
    std::unique_ptr<Node> taken = std::move(*owned->second);
    for (const Value& input : taken->inputs)
      if (input && ir::graph_value(input).node) write_before(ir::graph_value(input).node);
    for (Value& input : taken->inputs) update(input);
    graph_.nodes.push_back(std::move(taken));
  }

  void write_group(int number) {
    if (done_[number]) return;
    done_[number] = true;
    const RowGroup& group = groups_[number];
    for (const Node* member : group.nodes)
      for (const Value& given : member->inputs) {
        const Value& input = seen_by(member, given);
        const Node* made_by = input ? ir::graph_value(input).node : nullptr;
        auto other = made_by ? group_.find(made_by) : group_.end();
        if (made_by && (other == group_.end() || other->second != number)) write_before(made_by);
      }
    RowBody body =
        make_row_body(group, [&](const ir::ValueImpl* value) { return outside_.count(value) > 0; });
    ir::GraphEmitter emitter(graph_);
    ir::Emitter* before = ir::Emitter::swap_current(&emitter);
    size_t written = graph_.nodes.size();
    std::vector<Value> inputs;
    for (size_t i = 0; i < body.inputs.size(); i++) {
      Value value = body.inputs[i];
      update(value);
      const Dims& wanted = body.graph->inputs[i].value->sizes;
      inputs.push_back(value->sizes == wanted ? value : ir::op<"reshape">(value, wanted));
    }
    static const ir::OpDef& def = ir::registry().get("by_rows");
    ops::ByRowsAttrs attrs{ir::print_graph(*body.graph), body.over};
    const int starts[] = {0, static_cast<int>(inputs.size())};
    Node& node = graph_.append(def, inputs, starts, &attrs);
    for (size_t i = 0; i < body.outputs.size(); i++) {
      const Value &old = body.outputs[i], result = node.outputs[i];
      by_[old.get()] = old->sizes == result->sizes ? result : ir::op<"reshape">(result, old->sizes);
    }
    ir::Emitter::swap_current(before);
    for (size_t i = written; i < graph_.nodes.size(); i++) {
      graph_.nodes[i]->module = group.nodes.back()->module;
      graph_.nodes[i]->origin = group.nodes.back()->origin;
    }
  }

  ir::Graph& graph_;
  const std::vector<RowGroup>& groups_;
  std::unordered_map<const Node*, int> group_;
  std::unordered_set<const ir::ValueImpl*> outside_;  // values of groups that others read
  std::unordered_set<const Node*> needed_;
  std::vector<char> done_;
  std::vector<std::unique_ptr<Node>> old_;
  std::unordered_map<const Node*, std::unique_ptr<Node>*> owned_;
  std::unordered_map<const ir::ValueImpl*, Value> by_;
};

}  // namespace

void group_by_rows(ir::Graph& graph) {
  std::vector<RowGroup> groups = Groups(graph).find();
  if (!groups.empty()) Writer(graph, groups).run();
}

}  // namespace tw::passes

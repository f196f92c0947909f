// Two moves, each a linear walk that keeps the order of dependent nodes:
//
//   sink   a node that makes more bytes than it lets go runs late: right before the first that reads it.
//   Bytes
//          are let go where the node is the last reader of memory
//   hoist  a node that lets go of more than it makes runs early: as soon as its inputs are there and the
//          memory's other readers are done
//
// Views move with those that read them: they cost nothing. A walk gives each node an *anchor*, the node that
// it stands next to; nodes with one anchor keep the order they had. Where nothing is won a node sinks all the
// same, since those that feed it may win then. What the moves are worth is said by the layout of memory
// (plan_graph.cc), which knows which results take over the memory of inputs.
#include <algorithm>
#include <limits>
#include <utility>

#include "planner/groups.h"
#include "planner/order.h"

namespace tw::planner {

namespace {

constexpr int kNever = std::numeric_limits<int>::max();

class Mover {
 public:
  Mover(const ir::Graph& graph, const Order& order, Groups groups)
      : count_(static_cast<int>(order.commit)),
        nodes_(order.nodes.begin(), order.nodes.begin() + static_cast<int64_t>(order.commit)),
        group_(std::move(groups.of)),
        bytes_(std::move(groups.bytes)) {
    find_last_uses(graph, order);
  }

  // Last reads of what the commit or the caller reads are `count_`.
  void sink() {
    std::vector<int> anchors(count_), first_read(last_use_of_value_), last_read(last_use_);
    for (int& at : first_read) at = at == count_ ? count_ : kNever;
    for (int i = count_; i-- > 0;) {
      const ir::Node& node = *nodes_[i];
      int to = kNever;
      for (const ir::GraphRef& output : node.outputs) to = std::min(to, first_read[output->id]);
      if (to == kNever || !(node.def->view || made(node) >= held_longer(node, last_read, to))) to = i;
      anchors[i] = to;
      for (const ir::Value& input : node.inputs) {
        if (!input) continue;
        int id = ir::graph_value(input).id;
        first_read[id] = std::min(first_read[id], to);
        if (!node.def->view) last_read[group_[id]] = std::max(last_read[group_[id]], to);
      }
    }
    arrange(anchors);
  }

  void hoist() {
    std::vector<int> anchors(count_), made_at(group_.size(), -1), last_read(bytes_.size(), -1);
    std::vector<int> final_read(last_use_);
    for (int i = 0; i < count_; i++)
      if (!nodes_[i]->def->view) each_input(*nodes_[i], [&](int id) { raise(final_read[group_[id]], i); });
    for (int i = 0; i < count_; i++) {
      const ir::Node& node = *nodes_[i];
      int ready = -1;
      int64_t freed = 0;
      seen_in_++;
      each_input(node, [&](int id) {
        int group = group_[id];
        raise(ready, made_at[id]);
        if (node.def->view || final_read[group] != i || !note(group)) return;
        freed += bytes_[group];
        if (bytes_[group] > 0) raise(ready, last_read[group]);
      });
      bool moves = ready >= 0 && (node.def->view || freed > made(node));
      anchors[i] = moves ? ready : i;
      for (const ir::GraphRef& output : node.outputs) made_at[output->id] = anchors[i];
      if (!node.def->view) each_input(node, [&](int id) { raise(last_read[group_[id]], anchors[i]); });
    }
    arrange(anchors);
  }

  Order order(const Order& before) const {
    Order result{{nodes_.begin(), nodes_.end()}, before.commit, before.crossings, before.meetings};
    result.nodes.insert(result.nodes.end(), before.nodes.begin() + count_, before.nodes.end());
    return result;
  }

 private:
  static void raise(int& value, int to) { value = std::max(value, to); }
  template <class Each>
  static void each_input(const ir::Node& node, Each each) {
    for (const ir::Value& input : node.inputs)
      if (input) each(ir::graph_value(input).id);
  }

  void find_last_uses(const ir::Graph& graph, const Order& order) {
    seen_.assign(bytes_.size(), 0);
    last_use_.assign(bytes_.size(), -1);
    last_use_of_value_.assign(group_.size(), -1);
    auto read_at_end = [&](const ir::Value& value) {
      int id = ir::graph_value(value).id;
      last_use_[group_[id]] = last_use_of_value_[id] = count_;
    };
    for (size_t i = order.commit; i < order.nodes.size(); i++)
      for (const ir::Value& input : order.nodes[i]->inputs)
        if (input) read_at_end(input);
    for (const ir::Assignment& assignment : graph.assignments) read_at_end(assignment.value);
    for (const ir::Value& output : graph.outputs) read_at_end(output);
  }

  // Whether the group comes up for the first time in a walk over a node's inputs.
  bool note(int group) { return std::exchange(seen_[group], seen_in_) != seen_in_; }

  int64_t made(const ir::Node& node) const {
    int64_t total = 0;
    if (node.def->view) return 0;
    for (const ir::GraphRef& output : node.outputs) total += bytes_[group_[output->id]];
    return total;
  }

  // What would be live longer if the node ran at `to`.
  int64_t held_longer(const ir::Node& node, const std::vector<int>& last_read, int to) {
    int64_t total = 0;
    seen_in_++;
    each_input(node, [&](int id) {
      int group = group_[id];
      if (last_read[group] < to && note(group)) total += bytes_[group];
    });
    return total;
  }

  // Nodes with one anchor come in the order they had; the anchor itself is the last of them when they have
  // sunk, the first when they were hoisted, and by its number it is so.
  void arrange(const std::vector<int>& anchors) {
    std::vector<int> begin(count_ + 2, 0);
    for (int anchor : anchors) begin[anchor + 1]++;
    for (int i = 0; i <= count_; i++) begin[i + 1] += begin[i];
    std::vector<ir::Node*> arranged(count_);
    for (int i = 0; i < count_; i++) arranged[begin[anchors[i]]++] = nodes_[i];
    nodes_ = std::move(arranged);
  }

  int count_;
  std::vector<ir::Node*> nodes_;
  std::vector<int> group_;      // of each value
  std::vector<int64_t> bytes_;  // of each group
  std::vector<int> last_use_;   // of each group: `count_` where it is read at the end, else -1
  std::vector<int> last_use_of_value_;
  std::vector<int64_t> seen_;  // of each group: the walk that it came up in
  int64_t seen_in_ = 0;
};

}  // namespace

Order lean_order(const ir::Graph& graph, const Order& order) {
  Mover mover(graph, order, find_groups(graph));
  for (int round = 0; round < 2; round++) {
    mover.sink();
    mover.hoist();
  }
  return mover.order(order);
}

}  // namespace tw::planner

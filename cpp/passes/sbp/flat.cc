#include "passes/sbp/flat.h"

#include <algorithm>

#include "ir/control.h"

namespace tw::passes {

namespace {

// How often a loop is taken to run that does not say it.
constexpr double kUnknownTrips = 8;

class Flattener {
 public:
  Flattener(ir::Graph& graph, size_t* count) : locals_(graph) {
    next_ = graph.number();
    for (auto& node : graph.nodes) number_regions(*node);
    add_graph(graph, nullptr, 1);
    *count = static_cast<size_t>(next_);
  }
  std::vector<FlatNode> take() { return std::move(flat_); }

 private:
  void number_regions(ir::Node& node) {
    for (auto& region : node.regions) {
      const int inner = region->number(), first = next_;
      for (const ir::Leaf& leaf : region->inputs) leaf.value->id += first;
      for (const auto& inside : region->nodes)
        for (const ir::GraphRef& output : inside->outputs) output->id += first;
      next_ += inner;
      for (auto& inside : region->nodes) number_regions(*inside);
    }
  }

  void add_graph(ir::Graph& graph, const ir::Node* around, double times) {
    for (auto& node : graph.nodes) {
      if (!node->regions.empty()) {
        add_control(graph, *node, times);
        continue;
      }
      FlatNode flat;
      flat.kind = ir::is_boxing(*node->def)                                    ? FlatKind::kBoxing
                  : ir::is_take_part(*node->def) || locals_.reads_whole(*node) ? FlatKind::kLocal
                                                                               : FlatKind::kNode;
      flat.node = node.get();
      flat.around = around;
      flat.times = times;
      for (ir::Value& input : node->inputs) read(flat, graph, input);
      for (const ir::GraphRef& output : node->outputs) flat.outputs.push_back(output.get());
      flat_.push_back(std::move(flat));
    }
  }

  static void read(FlatNode& flat, ir::Graph& graph, ir::Value& value) {
    flat.inputs.push_back(value ? &value : nullptr);
    flat.graphs.push_back(&graph);
  }

  FlatNode part_of(ir::Node& node, FlatKind kind, double times) const {
    FlatNode flat;
    flat.kind = kind;
    flat.node = &node;
    flat.around = &node;
    flat.times = times;
    return flat;
  }

  void add_control(ir::Graph& graph, ir::Node& node, double times) {
    const bool loop = ir::control_kind(*node.def) == ir::ControlKind::kLoop;
    FlatNode predicate = part_of(node, FlatKind::kPredicate, times);
    for (int i = 0; i < (loop ? 2 : 1); i++) read(predicate, graph, node.inputs[i]);
    flat_.push_back(std::move(predicate));
    loop ? add_loop(graph, node, times) : add_cond(graph, node, times);
  }

  void add_cond(ir::Graph& graph, ir::Node& node, double times) {
    ir::Graph &yes = *node.regions[0], &no = *node.regions[1];
    for (size_t i = 0; i < yes.inputs.size(); i++) {
      FlatNode enter = part_of(node, FlatKind::kEnter, times);
      read(enter, graph, node.inputs[i + 1]);
      enter.outputs = {yes.inputs[i].value.get(), no.inputs[i].value.get()};
      flat_.push_back(std::move(enter));
    }
    for (auto& region : node.regions) add_graph(*region, &node, times);
    for (size_t i = 0; i < yes.outputs.size(); i++) {
      FlatNode exit = part_of(node, FlatKind::kExit, times);
      read(exit, yes, yes.outputs[i]);
      read(exit, no, no.outputs[i]);
      exit.outputs = {node.outputs[i].get()};
      flat_.push_back(std::move(exit));
    }
  }

  void add_loop(ir::Graph& graph, ir::Node& node, double times) {
    const ir::LoopShape shape = ir::loop_shape(node);
    ir::Graph& body = *node.regions[0];
    const double inside =
        times * (shape.length > 0 && !shape.pred ? static_cast<double>(shape.length) : kUnknownTrips);
    const auto first = static_cast<int>(flat_.size());
    for (size_t i = 0; i < body.inputs.size(); i++) {
      const auto number = static_cast<int>(i);
      FlatNode enter = part_of(node, FlatKind::kEnter, inside);
      read(enter, graph, node.inputs[i + 2]);
      enter.outputs = {body.inputs[i].value.get()};
      enter.shifted = number >= shape.carried && number < shape.carried + shape.slices;
      flat_.push_back(std::move(enter));
    }
    add_graph(body, &node, inside);
    if (shape.pred) {
      FlatNode goes_on = part_of(node, FlatKind::kPredicate, inside);
      read(goes_on, body, body.outputs[0]);
      flat_.push_back(std::move(goes_on));
    }
    for (int i = 0; i < shape.carried + shape.stacked; i++) {
      FlatNode exit = part_of(node, FlatKind::kExit, times);
      read(exit, body, body.outputs[i + shape.pred]);
      exit.outputs = {node.outputs[i].get()};
      exit.shifted = i >= shape.carried;
      if (!exit.shifted) {
        exit.partner = first + i;
        flat_[first + i].partner = static_cast<int>(flat_.size());
      }
      flat_.push_back(std::move(exit));
    }
  }

  const ir::LocalNodes locals_;
  int next_ = 0;
  std::vector<FlatNode> flat_;
};

}  // namespace

std::vector<FlatNode> flatten(ir::Graph& graph, size_t* count) { return Flattener(graph, count).take(); }

}  // namespace tw::passes

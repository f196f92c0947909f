#include "passes/partition/partition.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "ir/attr_text.h"
#include "ir/control.h"
#include "ir/layouts.h"
#include "ops/boxing/boxing_part.h"
#include "ops/boxing/local_parts.h"
#include "ops/creation/full.h"
#include "passes/partition/gather_steps.h"

namespace tw::passes {

namespace {

// The numbers of all boxings, those in regions too, in the order in which the graph comes to them.
using BoxingOrder = std::unordered_map<const ir::Node*, int64_t>;

void number_boxings(const ir::Graph& graph, BoxingOrder* order) {
  for (const auto& node : graph.nodes) {
    if (ir::is_boxing(*node->def)) order->emplace(node.get(), static_cast<int64_t>(order->size()));
    for (const auto& region : node->regions) number_boxings(*region, order);
  }
}

class Cutter {
 public:
  // `locals`: of the graph that `whole` is, or is a region of, which runs on accelerators if `elsewhere`.
  Cutter(ir::Graph& whole, std::vector<int64_t> ranks, const BoxingOrder& order, const ir::LocalNodes& locals,
         bool elsewhere)
      : whole_(whole), count_(whole.number()), order_(order), locals_(locals), elsewhere_(elsewhere) {
    result_.ranks = std::move(ranks);
    result_.graph = std::make_unique<ir::Graph>();
    values_.assign(result_.ranks.size(), std::vector<ir::Value>(count_));
  }

  ProcessGraph run() {
    begin();
    nodes();
    for (size_t i = 0; i < whole_.outputs.size(); i++) output(i);
    for (const ir::Assignment& one : whole_.assignments) assign(one);
    gather_steps(part(), places_);
    return std::move(result_);
  }

  // Of a region. What decides whether a loop goes on is one value for all.
  std::unique_ptr<ir::Graph> run_region(bool goes_on) {
    in_region_ = true;
    begin();
    nodes();
    for (size_t i = 0; i < whole_.outputs.size(); i++) {
      if (goes_on && i == 0)
        add_output(any_part(whole_.outputs[0]), -1);
      else
        output(i);
    }
    return std::move(result_.graph);
  }

 private:
  ir::Graph& part() { return *result_.graph; }

  void begin() {
    ir::Graph& graph = part();
    graph.name = whole_.name;
    graph.device = whole_.device;
    if (elsewhere_) graph.ranks = result_.ranks;
    graph.numbers = whole_.numbers;
    graph.strings = whole_.strings;
    graph.draws = whole_.draws;
    leaves(whole_.inputs, graph.inputs, &result_.inputs);
    leaves(whole_.variables, graph.variables, &result_.variables);
    leaves(whole_.constants, graph.constants, &result_.constants);
  }

  void nodes() {
    for (auto& node : whole_.nodes) {
      part().place = {node->module, node->origin};
      if (ir::is_boxing(*node->def))
        box(*node);
      else if (ir::is_take_part(*node->def))
        take_part(*node);
      else if (ir::is_join_parts(*node->def))
        join_parts(*node);
      else if (!node->regions.empty())
        control(*node);
      else if (locals_.makes(*node))
        copy_local(*node);
      else
        for_each_part(placed(*node), [&](size_t r) { copy(*node, r); });
    }
    part().place = {};
  }

  // What another process alone can make is left out.
  void output(size_t i) {
    const ir::GraphValue& value = ir::graph_value(whole_.outputs[i]);
    for_each_part(value, [&](size_t r) {
      if (!of(value, r)) return;
      result_.outputs.push_back(part_of(value, static_cast<int>(i), r));
      add_output(of(value, r), result_.outputs.back().rank);
    });
  }
  void add_output(ir::Value value, int64_t rank) {
    part().outputs.push_back(std::move(value));
    if (elsewhere_) part().output_ranks.push_back(rank);
  }

  ir::Value& of(const ir::GraphValue& value, size_t r) { return values_[r][value.id]; }
  PartOf part_of(const ir::GraphValue& value, int index, size_t r) const {
    return {index, value.layout ? result_.ranks[r] : -1};
  }

  // Calls `body` with the place in `ranks` of each that holds a part; once for a local value.
  template <class Body>
  void for_each_part(const ir::GraphValue& value, const Body& body) {
    for (size_t r = 0; r < result_.ranks.size(); r++) {
      if (value.layout ? value.layout->placement->position_of(result_.ranks[r]) >= 0 : r == 0) body(r);
    }
  }

  // A tensor that says where the node runs.
  static const ir::GraphValue& placed(const ir::Node& node) {
    static const ir::GraphRef local = ir::make_graph_value(DType::kFloat32, {});
    for (const ir::GraphValue* tensor : ir::tensors_of(node))
      if (tensor && tensor->layout) return *tensor;
    return *local;
  }

  // The part that the rank holds; all of a local value.
  sbp::Box box_of(const ir::GraphValue& value, size_t r) const {
    if (!value.layout) return {Dims(value.sizes.size()), value.sizes};
    return sbp::box_of(*value.layout, value.sizes, value.layout->placement->position_of(result_.ranks[r]));
  }

  // A local value is the same for every rank.
  void define(const ir::GraphValue& value, size_t r, const ir::Value& made) {
    for (size_t other = 0; other < values_.size(); other++)
      if (other == r || !value.layout) of(value, other) = made;
  }

  void leaves(const std::vector<ir::Leaf>& from, std::vector<ir::Leaf>& to, std::vector<PartOf>* parts) {
    for (size_t i = 0; i < from.size(); i++) {
      const ir::GraphValue& value = *from[i].value;
      for_each_part(value, [&](size_t r) {
        std::string name = value.layout ? cat(from[i].name, "@", result_.ranks[r]) : from[i].name;
        to.push_back({std::move(name), ir::make_graph_value(value.dtype, box_of(value, r).sizes)});
        define(value, r, to.back().value);
        parts->push_back(part_of(value, static_cast<int>(i), r));
      });
    }
  }

  void assign(const ir::Assignment& one) {
    for (size_t v = 0; v < result_.variables.size(); v++) {
      const PartOf& variable = result_.variables[v];
      if (variable.index != one.variable) continue;
      size_t r =
          variable.rank < 0 ? 0 : std::ranges::find(result_.ranks, variable.rank) - result_.ranks.begin();
      part().assignments.push_back({static_cast<int>(v), of(ir::graph_value(one.value), r)});
    }
  }

  void copy(const ir::Node& node, size_t r) {
    ir::AttrBox attrs(node.def->attr_type, node.attrs.get());
    localize(node, r, attrs.get());
    ir::Values inputs;
    for (const ir::Value& input : node.inputs)
      inputs.push_back(input ? of(ir::graph_value(input), r) : ir::Value());
    append(node, inputs, attrs.get(), r);
  }

  void append(const ir::Node& node, const ir::Values& inputs, const void* attrs, size_t r) {
    ir::Node& made = part().append(*node.def, {inputs.data(), inputs.size()},
                                   {node.starts.begin(), node.starts.size()}, attrs);
    places_.push_back({r, false});
    made.lifted = node.lifted;
    for (size_t i = 0; i < node.outputs.size(); i++) {
      Dims sizes = box_of(*node.outputs[i], r).sizes;
      TW_CHECK(made.outputs[i]->sizes == sizes, kInternal, node.def->name(), ": its part has shape ",
               made.outputs[i]->sizes, " by inference, but ", sizes, " by its layout");
      define(*node.outputs[i], r, made.outputs[i]);
    }
  }

  // --- parts as local values ---

  // A whole value, as any rank of this process has it; null where none does.
  ir::Value any_part(const ir::Value& value) {
    for (size_t r = 0; r < result_.ranks.size(); r++)
      if (ir::Value& part = of(ir::graph_value(value), r)) return part;
    return nullptr;
  }

  void take_part(const ir::Node& node) {
    const auto& a = *static_cast<const ops::TakePartAttrs*>(node.attrs.get());
    const auto at = std::ranges::find(result_.ranks, a.rank);
    const ir::GraphValue& taken = *node.outputs[0];
    if (at != result_.ranks.end())
      define(taken, 0, of(ir::graph_value(node.inputs[0]), static_cast<size_t>(at - result_.ranks.begin())));
    else if (in_region_)
      define(taken, 0, unknown(taken.sizes, taken.dtype));
  }

  // In place of the part of another process, in a region, which has all the inputs and outputs that its node
  // says: zeros, which nobody computes with.
  ir::Value unknown(const Dims& sizes, DType dtype) {
    static const ir::OpDef& full = ir::registry().get("full");
    const ops::FullAttrs attrs{IntList(sizes.begin(), sizes.end()), Scalar(int64_t{0}), dtype};
    ir::Node& node = part().append(full, {}, {}, &attrs);
    places_.push_back({0, false});
    return node.outputs[0];
  }

  // Of other processes the parts are not known, nor what they are made of: an input stands for each.
  void join_parts(const ir::Node& node) {
    const auto& a = *static_cast<const ops::JoinPartsAttrs*>(node.attrs.get());
    const ir::GraphValue& whole = *node.outputs[0];
    for_each_part(whole, [&](size_t r) {
      const auto at = std::ranges::find(a.ranks, result_.ranks[r]);
      ir::Value part;
      if (at != a.ranks.end()) part = any_part(node.inputs[static_cast<size_t>(at - a.ranks.begin())]);
      if (!part && in_region_) part = unknown(box_of(whole, r).sizes, whole.dtype);
      if (!part) {
        ir::GraphRef unknown = ir::make_graph_value(whole.dtype, box_of(whole, r).sizes);
        this->part().inputs.push_back({cat("part@", result_.ranks[r]), unknown});
        result_.inputs.push_back({-1, result_.ranks[r]});
        part = unknown;
      }
      define(whole, r, part);
    });
  }

  // A node on parts: once, where they are known.
  void copy_local(const ir::Node& node) {
    ir::Values inputs;
    for (const ir::Value& input : node.inputs) {
      inputs.push_back(input ? any_part(input) : ir::Value());
      if (input && !inputs.back()) return;
    }
    append(node, inputs, node.attrs.get(), 0);
  }

  // --- control flow ---

  static bool has_boxings(const ir::Node& node) {
    for (const auto& region : node.regions)
      for (const auto& inside : region->nodes)
        if (ir::is_boxing_part(*inside->def) || has_boxings(*inside)) return true;
    return false;
  }

  // Once for all ranks of the process: what goes in and comes out are the parts of them all. Local operands
  // that another process alone can make stay unknown.
  void control(const ir::Node& node) {
    const bool loop = ir::control_kind(*node.def) == ir::ControlKind::kLoop;
    const size_t deciding = loop ? 2 : 1;
    ir::Values inputs;
    SmallVector<int, 8> starts;
    for (size_t i = 0; i < deciding; i++) {
      starts.push_back(static_cast<int>(i));
      inputs.push_back(node.inputs[i] ? any_part(node.inputs[i]) : ir::Value());
      if (node.inputs[i] && !inputs.back()) return check_elsewhere(node);
    }
    for (size_t list = deciding; list + 1 < node.starts.size(); list++) {
      starts.push_back(static_cast<int>(inputs.size()));
      for (int i = node.starts[list]; i < node.starts[list + 1]; i++) {
        const ir::GraphValue& operand = ir::graph_value(node.inputs[i]);
        for_each_part(operand, [&](size_t r) {
          inputs.push_back(of(operand, r) ? of(operand, r) : unknown(operand.sizes, operand.dtype));
        });
      }
    }
    starts.push_back(static_cast<int>(inputs.size()));
    std::vector<std::unique_ptr<ir::Graph>> regions;
    for (const auto& region : node.regions)
      regions.push_back(
          Cutter(*region, result_.ranks, order_, locals_, elsewhere_).run_region(loop && node.inputs[0]));
    ir::Node& made = part().append(*node.def, {inputs.data(), inputs.size()}, {starts.data(), starts.size()},
                                   node.attrs.get(), std::move(regions));
    places_.push_back({0, has_boxings(made)});
    made.region_draw = node.region_draw;
    size_t next = 0;
    for (const ir::GraphRef& output : node.outputs)
      for_each_part(*output, [&](size_t r) { define(*output, r, made.outputs[next++]); });
  }

  // Who does not know what decides has nothing to do there.
  void check_elsewhere(const ir::Node& node) {
    for (const ir::GraphRef& output : node.outputs)
      if (output->layout)
        for_each_part(*output, [&](size_t r) {
          TW_FAIL(kInternal, node.def->name(), ": rank ", result_.ranks[r], " has a part of a result on ",
                  *output->layout->placement, ", but does not know what decides");
        });
  }

  void localize(const ir::Node& node, size_t r, void* attrs) const {
    if (!node.def->localize) return;
    ir::ShardContext context;
    context.attributes = attrs;
    size_t inputs = node.inputs.size(), outputs = node.outputs.size() - ir::mutated_inputs(node).size();
    std::vector<const ir::GraphValue*> tensors = ir::tensors_of(node);
    for (size_t i = 0; i < inputs + outputs; i++) {
      sbp::Box box;
      if (tensors[i]) box = box_of(*tensors[i], r);
      (i < inputs ? context.inputs : context.outputs).push_back(box.sizes);
      (i < inputs ? context.first_inputs : context.first_outputs).push_back(box.first);
      (i < inputs ? context.whole_inputs : context.whole_outputs)
          .push_back(tensors[i] ? tensors[i]->sizes : Dims());
    }
    node.def->localize(context);
    for (const ir::Lifted& one : node.lifted) {
      const ir::Param& param = node.def->schema.params[one.param];
      TW_CHECK(ir::same_attr(ir::read_attr(param.field, node.attrs.get()), ir::read_attr(param.field, attrs)),
               kNotImplemented, node.def->name(), ": ", param.name,
               " depends on where a part lies, and on a number that is given in every run");
    }
  }

  void box(const ir::Node& node) {
    const ir::GraphValue &from = ir::graph_value(node.inputs[0]), &to = *node.outputs[0];
    TW_CHECK(from.layout && to.layout, kInternal, "boxing: its input and its output need layouts");
    ops::BoxingPartAttrs attrs{
        sbp::name_of(*from.layout), sbp::name_of(*to.layout), to.sizes, to.dtype, {}, order_.at(&node)};
    attrs.ranks.append(result_.ranks.begin(), result_.ranks.end());
    ir::Values inputs;
    for_each_position(from, [&](size_t r) { inputs.push_back(of(from, r)); });
    bool gets = false;
    for_each_position(to, [&](size_t) { gets = true; });
    if (inputs.empty() && !gets) return;
    static const ir::OpDef& def = ir::registry().get("boxing_part");
    const int starts[] = {0, static_cast<int>(inputs.size())};
    ir::Node& made = part().append(def, {inputs.data(), inputs.size()}, starts, &attrs);
    places_.push_back({0, !is_here(from) || !is_here(to)});
    size_t next = 0;
    for_each_position(to, [&](size_t r) { define(to, r, made.outputs[next++]); });
  }

  bool is_here(const ir::GraphValue& value) const {
    return std::ranges::all_of(value.layout->placement->ranks, [&](int64_t rank) {
      return std::ranges::find(result_.ranks, rank) != result_.ranks.end();
    });
  }

  // The same in the order of the placement.
  template <class Body>
  void for_each_position(const ir::GraphValue& value, const Body& body) {
    for (int64_t rank : value.layout->placement->ranks)
      if (auto at = std::ranges::find(result_.ranks, rank); at != result_.ranks.end())
        body(static_cast<size_t>(at - result_.ranks.begin()));
  }

  ir::Graph& whole_;
  int count_;
  std::vector<std::vector<ir::Value>> values_;  // the parts, by rank and the number of the whole; null: none
  std::vector<NodePlace> places_;               // of the nodes of the part
  const BoxingOrder& order_;
  const ir::LocalNodes& locals_;
  const bool elsewhere_;
  bool in_region_ = false;
  ProcessGraph result_;
};

}  // namespace

ProcessGraph graph_of_process(ir::Graph& graph, std::vector<int64_t> ranks) {
  BoxingOrder order;
  number_boxings(graph, &order);
  const ir::LocalNodes locals(graph);
  return Cutter(graph, std::move(ranks), order, locals, graph.device != "cpu").run();
}

namespace {

template <class Add>
void add_nodes(const ir::Graph& graph, const Add& add) {
  for (const auto& node : graph.nodes) {
    for (const ir::GraphRef& output : node->outputs) add(*output);
    for (const auto& region : node->regions) add_nodes(*region, add);
  }
}

}  // namespace

std::vector<int64_t> ranks_of(const ir::Graph& graph) {
  std::set<int64_t> ranks;
  auto add = [&](const ir::GraphValue& value) {
    if (value.layout)
      ranks.insert(value.layout->placement->ranks.begin(), value.layout->placement->ranks.end());
  };
  for (const auto* leaves : {&graph.inputs, &graph.variables, &graph.constants})
    for (const ir::Leaf& leaf : *leaves) add(*leaf.value);
  add_nodes(graph, add);
  return {ranks.begin(), ranks.end()};
}

}  // namespace tw::passes

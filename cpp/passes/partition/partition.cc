#include "passes/partition/partition.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/attr_text.h"
#include "ir/layouts.h"
#include "ops/boxing/boxing_part.h"

namespace tw::passes {

namespace {

class Cutter {
 public:
  Cutter(ir::Graph& whole, int64_t rank) : whole_(whole), values_(whole.number()) {
    result_.rank = rank;
    result_.graph = std::make_unique<ir::Graph>();
  }

  RankGraph run() {
    ir::Graph& graph = part();
    graph.name = whole_.name;
    graph.numbers = whole_.numbers;
    graph.strings = whole_.strings;
    graph.draws = whole_.draws;
    leaves(whole_.inputs, graph.inputs, &result_.inputs);
    leaves(whole_.variables, graph.variables, &result_.variables);
    leaves(whole_.constants, graph.constants, &result_.constants);
    for (auto& node : whole_.nodes) {
      graph.place = {node->module, node->origin};
      if (ir::is_boxing(*node->def))
        box(*node);
      else if (takes_part(*node))
        copy(*node);
    }
    graph.place = {};
    for (size_t i = 0; i < whole_.outputs.size(); i++) {
      const ir::Value& value = of(whole_.outputs[i]);
      if (!value) continue;
      graph.outputs.push_back(value);
      result_.outputs.push_back(static_cast<int>(i));
    }
    for (const ir::Assignment& one : whole_.assignments) {
      auto at = std::ranges::find(result_.variables, one.variable);
      if (at != result_.variables.end())
        graph.assignments.push_back({static_cast<int>(at - result_.variables.begin()), of(one.value)});
    }
    return std::move(result_);
  }

 private:
  ir::Graph& part() { return *result_.graph; }
  ir::Value& of(const ir::Value& value) { return values_[ir::graph_value(value).id]; }

  // The part of a value that the rank holds; false: none.
  bool box_here(const ir::GraphValue& value, sbp::Box* box) const {
    *box = {Dims(value.sizes.size()), value.sizes};
    if (!value.layout) return true;
    int64_t position = value.layout->placement->position_of(result_.rank);
    if (position >= 0) *box = sbp::box_of(*value.layout, value.sizes, position);
    return position >= 0;
  }

  void leaves(const std::vector<ir::Leaf>& from, std::vector<ir::Leaf>& to, std::vector<int>* kept) {
    for (size_t i = 0; i < from.size(); i++) {
      sbp::Box box;
      if (!box_here(*from[i].value, &box)) continue;
      to.push_back({from[i].name, ir::make_graph_value(from[i].value->dtype, box.sizes)});
      values_[from[i].value->id] = to.back().value;
      kept->push_back(static_cast<int>(i));
    }
  }

  bool takes_part(const ir::Node& node) const {
    sbp::Box box;
    for (const ir::GraphValue* tensor : ir::tensors_of(node))
      if (tensor && !box_here(*tensor, &box)) return false;
    return true;
  }

  void copy(const ir::Node& node) {
    ir::AttrBox attrs(node.def->attr_type, node.attrs.get());
    localize(node, attrs.get());
    ir::Values inputs;
    for (const ir::Value& input : node.inputs) inputs.push_back(input ? of(input) : ir::Value());
    TW_CHECK(node.regions.empty(), kNotImplemented, node.def->name(),
             ": control flow on global tensors cannot be cut into programs of the ranks");
    ir::Node& made = part().append(*node.def, {inputs.data(), inputs.size()},
                                   {node.starts.begin(), node.starts.size()}, attrs.get());
    made.lifted = node.lifted;
    for (size_t i = 0; i < node.outputs.size(); i++) {
      sbp::Box box;
      box_here(*node.outputs[i], &box);
      TW_CHECK(made.outputs[i]->sizes == box.sizes, kInternal, node.def->name(), ": its part has shape ",
               made.outputs[i]->sizes, " by inference, but ", box.sizes, " by its layout");
      values_[node.outputs[i]->id] = made.outputs[i];
    }
  }

  void localize(const ir::Node& node, void* attrs) const {
    if (!node.def->localize) return;
    ir::ShardContext context;
    context.attributes = attrs;
    size_t inputs = node.inputs.size(), outputs = node.outputs.size() - ir::mutated_inputs(node).size();
    std::vector<const ir::GraphValue*> tensors = ir::tensors_of(node);
    for (size_t i = 0; i < inputs + outputs; i++) {
      sbp::Box box;
      if (tensors[i]) box_here(*tensors[i], &box);
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

  // A boxing that moves nothing between ranks still has its number: all count alike.
  void box(const ir::Node& node) {
    const ir::GraphValue& from = ir::graph_value(node.inputs[0]);
    const ir::GraphValue& to = *node.outputs[0];
    TW_CHECK(from.layout && to.layout, kInternal, "boxing: its input and its output need layouts");
    int64_t order = boxings_++;
    sbp::Box box;
    bool gives = box_here(from, &box), gets = box_here(to, &box);
    if (!gives && !gets) return;
    ops::BoxingPartAttrs attrs{
        sbp::name_of(*from.layout), sbp::name_of(*to.layout), to.sizes, to.dtype, result_.rank, order};
    static const ir::OpDef& def = ir::registry().get("boxing_part");
    ir::Value input = gives ? of(node.inputs[0]) : ir::Value();
    ir::Node& made = part().append(def, {&input, 1}, {}, &attrs);
    if (gets) values_[to.id] = made.outputs[0];
  }

  ir::Graph& whole_;
  std::vector<ir::Value> values_;  // the parts, by the numbers of the wholes; null: none
  int64_t boxings_ = 0;
  RankGraph result_;
};

void add_ranks(const ir::GraphValue& value, std::set<int64_t>* ranks) {
  if (value.layout)
    ranks->insert(value.layout->placement->ranks.begin(), value.layout->placement->ranks.end());
}

std::set<int64_t> ranks_in(const std::string& layout) {
  ir::TextLexer lexer(layout);
  const auto placement = ir::parse_layout(lexer)->placement;
  return {placement->ranks.begin(), placement->ranks.end()};
}

}  // namespace

RankGraph graph_of_rank(ir::Graph& graph, int64_t rank) { return Cutter(graph, rank).run(); }

std::vector<int64_t> ranks_of(const ir::Graph& graph) {
  std::set<int64_t> ranks;
  for (const auto* leaves : {&graph.inputs, &graph.variables, &graph.constants})
    for (const ir::Leaf& leaf : *leaves) add_ranks(*leaf.value, &ranks);
  for (const auto& node : graph.nodes)
    for (const ir::GraphRef& output : node->outputs) add_ranks(*output, &ranks);
  return {ranks.begin(), ranks.end()};
}

void check_meetings(std::span<const RankGraph> graphs) {
  struct Meeting {
    std::string what;
    std::set<int64_t> wanted, come;
  };
  std::map<int64_t, Meeting> meetings;
  for (const RankGraph& one : graphs) {
    int64_t before = -1;
    for (const auto& node : one.graph->nodes) {
      if (!ir::is_boxing_part(*node->def)) continue;
      const auto& a = *static_cast<const ops::BoxingPartAttrs*>(node->attrs.get());
      TW_CHECK(a.rank == one.rank, kInternal, "boxing ", a.order, " of rank ", one.rank, " is that of rank ",
               a.rank);
      TW_CHECK(a.order > before, kInternal, "rank ", one.rank, " comes to boxing ", a.order, " after boxing ",
               before);
      before = a.order;
      std::string what = cat(a.source, " -> ", a.target, " of ", a.dtype, a.size);
      auto [at, fresh] = meetings.try_emplace(a.order);
      Meeting& meeting = at->second;
      if (fresh) {
        meeting.what = what;
        meeting.wanted = ranks_in(a.source);
        meeting.wanted.merge(ranks_in(a.target));
      }
      TW_CHECK(meeting.what == what, kInternal, "boxing ", a.order, " is ", what, " on rank ", one.rank,
               ", but elsewhere ", meeting.what);
      meeting.come.insert(one.rank);
    }
  }
  for (const auto& [order, meeting] : meetings)
    TW_CHECK(meeting.come == meeting.wanted, kInternal, "boxing ", order, ", ", meeting.what, ", is on ",
             meeting.come.size(), " ranks, but ", meeting.wanted.size(), " take part");
}

}  // namespace tw::passes

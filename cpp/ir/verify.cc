#include "ir/verify.h"

#include <unordered_set>

#include "ir/attr_text.h"
#include "ir/control.h"
#include "ir/graph_text.h"
#include "ir/verify_layouts.h"

namespace tw::ir {

namespace {

#define TW_VERIFY(condition, ...)  \
  do {                             \
    if (!(condition)) [[unlikely]] \
      fail(__VA_ARGS__);           \
  } while (false)

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : Verifier(graph, graph) {}

  void run() {
    leaves("input", graph_.inputs);
    leaves("variable", graph_.variables);
    leaves("constant", graph_.constants);
    TW_VERIFY(graph_.draws >= 0, "the number of draws is ", graph_.draws);
    for (const auto& node : graph_.nodes) {
      TW_VERIFY(node && node->def, "there is a node without an op");
      node_ = node.get();
      check_node();
    }
    node_ = nullptr;
    for (size_t i = 0; i < graph_.outputs.size(); i++)
      TW_VERIFY(is_defined(graph_.outputs[i]), "output ", i, " is no value of the graph");
    assignments();
  }

 private:
  // A region of `root`, which has the numbers and texts.
  Verifier(const Graph& graph, const Graph& root) : graph_(graph), root_(root) {
    defined_.reserve(4 * graph.nodes.size());
  }

  void regions() {
    auto names = region_names(*node_->def);
    TW_VERIFY(node_->regions.size() == names.size(), names.size(), " regions are wanted, got ",
              node_->regions.size());
    bool random = false;
    for (const auto& region : node_->regions) {
      TW_VERIFY(region, "a region is missing");
      TW_VERIFY(region->variables.empty() && region->constants.empty() && region->numbers.empty() &&
                    region->assignments.empty() && region->strings.size() == 1,
                "a region has variables, constants, numbers or texts of its own");
      try {
        Verifier(*region, root_).run();
      } catch (const Error& error) {
        fail("its region does not hold: ", error.what());
      }
      random |= draws_numbers(*region);
    }
    TW_VERIFY(names.empty() || random == (node_->region_draw >= 0), "its regions draw ", random ? "" : "no ",
              "random numbers, and its draw is ", node_->region_draw);
  }

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) {
    std::string message = cat("graph \"", graph_.name, "\": ", parts...);
    if (node_) {
      give_numbers();
      message += cat("\n  ", node_text(root_, *node_));
    }
    TW_FAIL(kInternal, message);
  }

  // As Graph::number, where values may be missing.
  void give_numbers() {
    int next = 0;
    auto give = [&](const GraphRef& value) {
      if (value) value->id = next++;
    };
    for (const auto* leaves : {&graph_.inputs, &graph_.variables, &graph_.constants})
      for (const Leaf& leaf : *leaves) give(leaf.value);
    for (const auto& node : graph_.nodes)
      if (node)
        for (const GraphRef& value : node->outputs) give(value);
  }

  bool is_defined(const Value& value) const { return defined_.contains(value.get()); }

  void leaves(const char* kind, const std::vector<Leaf>& leaves) {
    for (const Leaf& leaf : leaves) {
      TW_VERIFY(leaf.value, kind, " \"", leaf.name, "\" has no value");
      TW_VERIFY(!leaf.value->node, kind, " \"", leaf.name, "\" is made by a node");
      try {
        check_sizes(leaf.value->dtype, leaf.value->sizes);
      } catch (const Error& error) {
        fail(kind, " \"", leaf.name, "\": ", error.what());
      }
      TW_VERIFY(defined_.insert(leaf.value.get()).second, kind, " \"", leaf.name,
                "\" is there a second time");
      if (std::string problem = layout_problem(*leaf.value); !problem.empty())
        fail(kind, " \"", leaf.name, "\": ", problem);
    }
  }

  void check_node() {
    const OpDef& def = *node_->def;
    TW_VERIFY(def.infer, def.name(), " is written with other ops: they have to stand in its place");
    TW_VERIFY(!def.dynamic_sizes, "the sizes of what ", def.name(),
              " makes depend on data, which no graph can hold");
    arity();
    inputs();
    dtypes();
    lifted();
    regions();
    draw();
    outputs();
    layouts();
    for (int text : {node_->module, node_->origin})
      TW_VERIFY(text >= 0 && text < root_.strings.size(), "there is no text number ", text);
  }

  // `starts` cuts the inputs as the schema says.
  void arity() {
    const Schema& schema = node_->def->schema;
    size_t inputs = node_->inputs.size(), params = schema.tensor_count;
    const auto& starts = node_->starts;
    if (!schema.has_lists) {
      TW_VERIFY(starts.empty(), "an op without lists has starts: ", starts);
      TW_VERIFY(inputs == params, params, " inputs are wanted, got ", inputs);
      return;
    }
    TW_VERIFY(starts.size() == params + 1, params + 1, " starts are wanted, got ", starts);
    TW_VERIFY(starts[0] == 0 && starts[params] == static_cast<int>(inputs),
              "the starts must go from 0 to the number of inputs, ", inputs, ", got ", starts);
    for (const Param& param : schema.params) {
      if (param.kind == ParamKind::kAttr) continue;
      int length = starts[param.tensor_index + 1] - starts[param.tensor_index];
      TW_VERIFY(param.kind == ParamKind::kTensorList ? length >= 0 : length == 1, "the starts give ",
                param.name, " ", length, " inputs: ", starts);
    }
  }

  int first_input(int tensor) const { return node_->starts.empty() ? tensor : node_->starts[tensor]; }

  void inputs() {
    for (const Param& param : node_->def->schema.params) {
      if (param.kind == ParamKind::kAttr) continue;
      for (int i = first_input(param.tensor_index); i < first_input(param.tensor_index + 1); i++) {
        if (!node_->inputs[i]) {
          TW_VERIFY(param.optional, "input ", i, " (", param.name, ") is missing");
          continue;
        }
        TW_VERIFY(is_defined(node_->inputs[i]), "input ", i, " (", param.name,
                  ") is no value of the graph made before the node");
      }
    }
  }

  // Promotion happened when the graph was made; inference relies on it.
  void dtypes() {
    const OpDef& def = *node_->def;
    if (def.promotion == Promotion::kNone) return;
    const ValueImpl* first = nullptr;
    for (int param = 0; param < def.schema.tensor_count; param++) {
      if (!(def.promoted_params >> param & 1)) continue;
      for (int i = first_input(param); i < first_input(param + 1); i++) {
        const ValueImpl* input = node_->inputs[i].get();
        if (!input) continue;
        if (!first) first = input;
        TW_VERIFY(input->dtype == first->dtype, "the inputs of ", def.name(), " must agree in dtype, got ",
                  first->dtype, " and ", input->dtype);
      }
    }
    TW_VERIFY(def.promotion != Promotion::kFloat || !first || kind_of(first->dtype) >= DTypeKind::kFloat,
              "a floating or complex input is wanted, got ", first->dtype);
  }

  void lifted() {
    const auto& params = node_->def->schema.params;
    for (size_t i = 0; i < node_->lifted.size(); i++) {
      const Lifted& one = node_->lifted[i];
      TW_VERIFY(one.number >= 0 && one.number < static_cast<int>(root_.numbers.size()),
                "there is no number $", one.number);
      TW_VERIFY(one.param >= 0 && one.param < static_cast<int>(params.size()) &&
                    params[one.param].kind == ParamKind::kAttr,
                "$", one.number, " stands for parameter ", one.param, ", which is no attribute");
      lifted_item(one, params[one.param]);
      for (size_t j = 0; j < i; j++)
        TW_VERIFY(node_->lifted[j].param != one.param || node_->lifted[j].item != one.item, "$", one.number,
                  " stands for what $", node_->lifted[j].number, " stands for: ", params[one.param].name);
    }
  }

  void lifted_item(const Lifted& one, const Param& param) {
    AttrKind kind = param.attr_kind;
    if (kind == AttrKind::kIntList || kind == AttrKind::kFloatList) {
      AttrValue value = read_attr(param.field, node_->attrs.get());
      size_t length = 0;
      if (const auto* ints = std::get_if<IntList>(&value)) length = ints->size();
      if (const auto* floats = std::get_if<FloatList>(&value)) length = floats->size();
      TW_VERIFY(one.item >= 0 && static_cast<size_t>(one.item) < length, "$", one.number, " stands for item ",
                one.item, " of ", param.name, ", which has ", length);
      return;
    }
    TW_VERIFY(kind == AttrKind::kInt || kind == AttrKind::kFloat || kind == AttrKind::kScalar, "$",
              one.number, " stands for ", param.name, ", which is no number: ", param.type_text);
    TW_VERIFY(one.item == -1, "$", one.number, " stands for item ", one.item, " of ", param.name,
              ", which is no list");
  }

  void draw() {
    int64_t draw = draw_of(*node_);
    if (draw < 0 && (is_control(*node_->def) || node_->def->random_key_offset < 0)) return;
    TW_VERIFY(draw >= 0 && draw < graph_.draws, "a draw below ", graph_.draws, " is wanted, got ", draw);
    const int64_t end = draw + draws_of(*node_);
    TW_VERIFY(end <= graph_.draws, "the draws ", draw, " to ", end, " of ", graph_.draws, " are taken");
    for (; draw < end; draw++) {
      const Node* before = draws_.try_emplace(draw, node_).first->second;
      if (before == node_ || (is_copy(*before) && !is_control(*node_->def))) continue;
      give_numbers();
      fail("draw ", draw, " serves another node too: ", node_text(root_, *before));
    }
  }

  // A node on one part of a tensor, which it was told of in a hidden attribute: `localize` filled it.
  static bool is_part(const Node& node) {
    for (const Param& param : node.def->schema.params)
      if (param.kind == ParamKind::kAttr && param.name[0] == '_' &&
          !same_attr(read_attr(param.field, node.attrs.get()), read_attr(param.field, node.def->defaults())))
        return true;
    return false;
  }

  // Nodes on parts of one tensor draw each its part of the same numbers.
  bool is_copy(const Node& other) const {
    if (other.def != node_->def) return false;
    if (is_part(other) && is_part(*node_)) return true;
    for (const Param& param : node_->def->schema.params)
      if (param.kind == ParamKind::kAttr &&
          !same_attr(read_attr(param.field, node_->attrs.get()), read_attr(param.field, other.attrs.get())))
        return false;
    if (other.outputs.size() != node_->outputs.size()) return false;
    for (size_t i = 0; i < other.outputs.size(); i++)
      if (!node_->outputs[i] || other.outputs[i]->dtype != node_->outputs[i]->dtype ||
          !(other.outputs[i]->sizes == node_->outputs[i]->sizes))
        return false;
    return true;
  }

  void outputs() {
    SmallVector<Meta, 2> inferred;
    try {
      inferred = infer_outputs(*node_);
    } catch (const std::exception& error) {
      fail("inference refuses the node: ", error.what());
    }
    const auto& outputs = node_->outputs;
    TW_VERIFY(outputs.size() == inferred.size(), inferred.size(), " outputs are wanted, got ",
              outputs.size());
    for (size_t i = 0; i < outputs.size(); i++) {
      TW_VERIFY(outputs[i], "output ", i, " is missing");
      const GraphValue& value = *outputs[i];
      TW_VERIFY(value.node == node_ && value.output == static_cast<int>(i), "output ", i,
                " does not point back to its node");
      TW_VERIFY(defined_.insert(&value).second, "output ", i, " is made by two nodes or is a leaf");
      TW_VERIFY(value.dtype == inferred[i].dtype && value.sizes == inferred[i].sizes, "output ", i, " is ",
                type_text(value.dtype, value.sizes), ", but by inference ",
                type_text(inferred[i].dtype, inferred[i].sizes));
    }
  }

  void layouts() {
    for (const GraphRef& output : node_->outputs)
      if (std::string problem = layout_problem(*output); !problem.empty()) fail(problem);
    if (std::string problem = layout_problem(*node_); !problem.empty()) fail(problem);
  }

  void assignments() {
    std::vector<char> assigned(graph_.variables.size());
    for (const Assignment& one : graph_.assignments) {
      TW_VERIFY(one.variable >= 0 && one.variable < static_cast<int>(assigned.size()),
                "there is no variable number ", one.variable);
      const Leaf& variable = graph_.variables[one.variable];
      TW_VERIFY(!assigned[one.variable], "variable \"", variable.name, "\" is assigned twice");
      assigned[one.variable] = 1;
      TW_VERIFY(is_defined(one.value), "what variable \"", variable.name,
                "\" is assigned is no value of the graph");
      TW_VERIFY(one.value->dtype == variable.value->dtype && one.value->sizes == variable.value->sizes,
                "variable \"", variable.name, "\" is ",
                type_text(variable.value->dtype, variable.value->sizes), ", but is assigned ",
                type_text(one.value->dtype, one.value->sizes));
      const sbp::LayoutRef& layout = graph_value(one.value).layout;
      if (layout && variable.value->layout)
        TW_VERIFY(sbp::same_parts(*layout, *variable.value->layout, variable.value->sizes), "variable \"",
                  variable.name, "\" lies as ", *variable.value->layout, ", but is assigned what lies as ",
                  *layout);
    }
  }

  const Graph& graph_;
  const Graph& root_;
  const Node* node_ = nullptr;  // that is looked at, for messages
  std::unordered_set<const ValueImpl*> defined_;
  std::unordered_map<int64_t, const Node*> draws_;  // the first node that takes each
};

#undef TW_VERIFY

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace tw::ir

#include "session/fit_sizes.h"

#include <unordered_map>

#include "ir/attr_text.h"
#include "ir/graph_text.h"
#include "session/fit_formula.h"

namespace tw::session {

namespace {

using ir::AttrValue;

// The numbers of an attribute, one by one; none of other attributes.
std::vector<Scalar> numbers_of(const AttrValue& value) {
  std::vector<Scalar> numbers;
  if (auto* list = std::get_if<IntList>(&value)) numbers.assign(list->begin(), list->end());
  if (auto* list = std::get_if<ir::FloatList>(&value)) numbers.assign(list->begin(), list->end());
  if (auto* number = std::get_if<int64_t>(&value)) numbers = {*number};
  if (auto* number = std::get_if<double>(&value)) numbers = {*number};
  if (auto* number = std::get_if<Scalar>(&value)) numbers = {*number};
  return numbers;
}

bool is_list(const AttrValue& value) { return value.index() >= AttrValue(IntList()).index(); }

// Values of two graphs that stand for one another.
using Numbers = std::unordered_map<const ir::ValueImpl*, int>;

Numbers numbers_of_values(ir::Graph& graph) {
  graph.number();
  Numbers numbers;
  for (auto* leaves : {&graph.inputs, &graph.variables, &graph.constants})
    for (const ir::Leaf& leaf : *leaves) numbers[leaf.value.get()] = leaf.value->id;
  for (const auto& node : graph.nodes)
    for (const ir::GraphRef& output : node->outputs) numbers[output.get()] = output->id;
  return numbers;
}

class Fitter {
 public:
  Fitter(const std::vector<SizedGraph>& traces, const std::vector<std::string>& names)
      : traces_(traces), names_(names) {}

  std::vector<SizeRule> run() {
    for (const auto& node : graph(0).nodes)
      TW_CHECK(node->regions.empty(), kNotImplemented,
               "sizes: a call with control flow is saved for the sizes that it has, got symbols for them");
    for (size_t p = 1; p < traces_.size(); p++) check_structure(p);
    for (size_t i = 0; i < traces_[0].graph->nodes.size(); i++) fit_node(i);
    return std::move(rules_);
  }

 private:
  ir::Graph& graph(size_t p) const { return *traces_[p].graph; }

  [[noreturn]] void differ(size_t p, const std::string& what) const {
    TW_FAIL(kValue, "the call does something else for ", sizes_text(0), " than for ", sizes_text(p), ": ",
            what);
  }

  std::string sizes_text(size_t p) const {
    std::string out;
    for (size_t s = 0; s < names_.size(); s++)
      out += cat(s ? ", " : "", names_[s], " = ", traces_[p].values[s]);
    return out;
  }

  // Throws unless trace p has the nodes of the first, applied to the same values.
  void check_structure(size_t p) const {
    const ir::Graph &a = graph(0), &b = graph(p);
    if (a.variables.size() != b.variables.size() || a.constants.size() != b.constants.size() ||
        a.outputs.size() != b.outputs.size() || a.assignments.size() != b.assignments.size() ||
        a.draws != b.draws)
      differ(p, "it reads other tensors, or gives other results");
    for (size_t i = 0; i < a.constants.size(); i++)
      if (a.constants[i].value->sizes != b.constants[i].value->sizes)
        differ(p, cat("it makes a constant of shape ", a.constants[i].value->sizes, ", or of shape ",
                      b.constants[i].value->sizes));
    Numbers in_a = numbers_of_values(graph(0)), in_b = numbers_of_values(graph(p));
    auto same = [&](const ir::Value& x, const ir::Value& y) {
      return !x == !y && (!x || in_a.at(x.get()) == in_b.at(y.get()));
    };
    for (size_t i = 0; i < std::min(a.nodes.size(), b.nodes.size()); i++)
      if (!same_node(*a.nodes[i], *b.nodes[i], same))
        differ(p, cat(ir::node_text(a, *a.nodes[i]), ", or ", ir::node_text(b, *b.nodes[i])));
    if (a.nodes.size() != b.nodes.size())
      differ(p, cat("it applies ", a.nodes.size(), " ops, or ", b.nodes.size()));
    for (size_t i = 0; i < a.outputs.size(); i++)
      if (!same(a.outputs[i], b.outputs[i])) differ(p, "its results are those of other ops");
    for (size_t i = 0; i < a.assignments.size(); i++)
      if (a.assignments[i].variable != b.assignments[i].variable ||
          !same(a.assignments[i].value, b.assignments[i].value))
        differ(p, "it writes other tensors");
  }

  template <class Same>
  static bool same_node(const ir::Node& a, const ir::Node& b, const Same& same) {
    if (a.def != b.def || a.inputs.size() != b.inputs.size() || a.lifted.size() != b.lifted.size())
      return false;
    if (!std::equal(a.starts.begin(), a.starts.end(), b.starts.begin(), b.starts.end())) return false;
    for (size_t i = 0; i < a.inputs.size(); i++)
      if (!same(a.inputs[i], b.inputs[i])) return false;
    return true;
  }

  void fit_node(size_t number) {
    const ir::Node& node = *graph(0).nodes[number];
    const auto& params = node.def->schema.params;
    for (size_t i = 0; i < params.size(); i++)
      if (params[i].kind == ir::ParamKind::kAttr) fit_attribute(number, static_cast<int>(i));
  }

  void fit_attribute(size_t number, int param) {
    std::vector<AttrValue> values;
    for (const SizedGraph& trace : traces_) {
      const ir::Node& node = *trace.graph->nodes[number];
      values.push_back(ir::read_attr(node.def->schema.params[param].field, node.attrs.get()));
    }
    if (std::all_of(values.begin(), values.end(),
                    [&](const AttrValue& value) { return ir::same_attr(value, values[0]); }))
      return;
    size_t count = numbers_of(values[0]).size();
    for (const AttrValue& value : values)
      if (value.index() != values[0].index() || numbers_of(value).size() != count || count == 0)
        no_rule(number, param, values);
    for (size_t item = 0; item < count; item++) fit_item(number, param, item, values);
  }

  void fit_item(size_t number, int param, size_t item, const std::vector<AttrValue>& values) {
    std::vector<Scalar> wanted;
    for (const AttrValue& value : values) wanted.push_back(numbers_of(value)[item]);
    if (std::all_of(wanted.begin(), wanted.end(), [&](const Scalar& w) { return w == wanted[0]; })) return;
    std::vector<std::vector<Scalar>> features;
    for (const SizedGraph& trace : traces_) {
      const ir::Values& inputs = trace.graph->nodes[number]->inputs;
      features.push_back(size_features(trace.values, {inputs.data(), inputs.size()}));
    }
    std::optional<std::string> formula = fit_formula(features, wanted);
    if (!formula) no_rule(number, param, values);
    rules_.push_back({static_cast<int>(number), param, is_list(values[0]) ? static_cast<int>(item) : -1,
                      std::move(*formula)});
  }

  [[noreturn]] void no_rule(size_t number, int param, const std::vector<AttrValue>& values) const {
    std::string found;
    for (size_t p = 0; p < values.size(); p++)
      found += cat(p ? ", " : "", ir::attr_text(values[p]), " for ", sizes_text(p));
    const ir::Node& node = *graph(0).nodes[number];
    const std::string& module = graph(0).strings[node.module];
    TW_FAIL(kValue, node.def->name(), module.empty() ? "" : " in ", module, ": ",
            node.def->schema.params[param].name, " follows from the sizes in no way that is known: it is ",
            found);
  }

  const std::vector<SizedGraph>& traces_;
  const std::vector<std::string>& names_;
  std::vector<SizeRule> rules_;
};

}  // namespace

std::vector<SizeRule> fit_sizes(const std::vector<SizedGraph>& traces,
                                const std::vector<std::string>& symbol_names) {
  return Fitter(traces, symbol_names).run();
}

}  // namespace tw::session

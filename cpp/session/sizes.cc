#include "session/sizes.h"

#include <unordered_map>

#include "session/json.h"

namespace tw::session {

namespace {

using ir::AttrValue;

const std::string kNoName;

SizeSymbol parse_symbol(const Json& json, const ir::Graph& graph) {
  const auto& parts = json.list("a symbol");
  TW_CHECK(parts.size() == 4, kValue, "sizes: a symbol must be a name, two bounds and places");
  SizeSymbol symbol{parts[0].string("a name"), parts[1].count("a bound"), parts[2].count("a bound"), {}};
  for (const Json& place : parts[3].list("places")) {
    const auto& pair = place.list("a place");
    TW_CHECK(pair.size() == 2, kValue, "sizes: a place must be an input and a dim");
    int64_t input = pair[0].count("an input"), dim = pair[1].count("a dim");
    TW_CHECK(input < static_cast<int64_t>(graph.inputs.size()) &&
                 dim < static_cast<int64_t>(graph.inputs[input].value->sizes.size()),
             kValue, "sizes: there is no dim ", dim, " of an input ", input);
    symbol.places.push_back({static_cast<int>(input), static_cast<int>(dim)});
  }
  TW_CHECK(!symbol.places.empty(), kValue, "sizes: the symbol ", symbol.name, " stands nowhere");
  return symbol;
}

int param_named(const ir::Node& node, const std::string& name) {
  const auto& params = node.def->schema.params;
  for (size_t i = 0; i < params.size(); i++)
    if (params[i].kind == ir::ParamKind::kAttr && params[i].name == name) return static_cast<int>(i);
  TW_FAIL(kValue, "sizes: ", node.def->name(), " has no attribute ", name);
}

SizeRule parse_rule(const Json& json, const ir::Graph& graph) {
  const auto& parts = json.list("a rule");
  TW_CHECK(parts.size() == 4, kValue, "sizes: a rule must be a node, an attribute, an item and a formula");
  int64_t number = parts[0].count("a node");
  TW_CHECK(number < static_cast<int64_t>(graph.nodes.size()), kValue, "sizes: there is no node ", number);
  int64_t item = parts[2].count("an item") - 1;
  SizeRule rule{static_cast<int>(number), param_named(*graph.nodes[number], parts[1].string("an attribute")),
                static_cast<int>(item), parts[3].string("a formula")};
  return rule;
}

// `value` with `number` in the place that a rule names.
AttrValue with_item(AttrValue value, int item, const Scalar& number, const char* op) {
  if (auto* list = std::get_if<IntList>(&value)) {
    TW_CHECK(item >= 0 && item < static_cast<int>(list->size()), kValue, op, ": there is no item ", item);
    (*list)[item] = number.to_int();
  } else if (auto* floats = std::get_if<ir::FloatList>(&value)) {
    TW_CHECK(item >= 0 && item < static_cast<int>(floats->size()), kValue, op, ": there is no item ", item);
    (*floats)[item] = number.to_double();
  } else if (std::get_if<int64_t>(&value)) {
    value = number.to_int();
  } else if (std::get_if<double>(&value)) {
    value = number.to_double();
  } else {
    TW_CHECK(std::get_if<Scalar>(&value), kValue, op, ": an attribute that is no number follows no size");
    value = number;
  }
  return value;
}

class Binder {
 public:
  Binder(const ir::Graph& graph, const Sizes& sizes, std::span<const int64_t> values)
      : graph_(graph), sizes_(sizes), values_(values), bound_(std::make_unique<ir::Graph>()) {}

  std::unique_ptr<ir::Graph> run() {
    bound_->name = graph_.name;
    bound_->device = graph_.device;
    bound_->numbers = graph_.numbers;
    bound_->draws = graph_.draws;
    bound_->strings = graph_.strings;
    copy_leaves();
    size_t rule = 0;
    for (size_t i = 0; i < graph_.nodes.size(); i++) copy_node(*graph_.nodes[i], static_cast<int>(i), &rule);
    for (const ir::Value& output : graph_.outputs) bound_->outputs.push_back(known_.at(output.get()));
    for (const ir::Assignment& assignment : graph_.assignments) {
      const ir::Value& value = known_.at(assignment.value.get());
      const ir::Leaf& variable = bound_->variables[assignment.variable];
      TW_CHECK(value->sizes == variable.value->sizes, kValue, "the variable \"", variable.name,
               "\" of shape ", variable.value->sizes, " would be given a value of shape ", value->sizes);
      bound_->assignments.push_back({assignment.variable, value});
    }
    return std::move(bound_);
  }

 private:
  void copy_leaves() {
    std::vector<Dims> inputs;
    for (const ir::Leaf& leaf : graph_.inputs) inputs.push_back(leaf.value->sizes);
    for (size_t s = 0; s < sizes_.symbols.size(); s++)
      for (const auto& place : sizes_.symbols[s].places) inputs[place.input][place.dim] = values_[s];
    for (size_t i = 0; i < inputs.size(); i++) add(graph_.inputs[i], inputs[i], &bound_->inputs);
    for (const ir::Leaf& leaf : graph_.variables) add(leaf, leaf.value->sizes, &bound_->variables);
    for (const ir::Leaf& leaf : graph_.constants) add(leaf, leaf.value->sizes, &bound_->constants);
  }

  void add(const ir::Leaf& leaf, const Dims& sizes, std::vector<ir::Leaf>* leaves) {
    leaves->push_back({leaf.name, ir::make_graph_value(leaf.value->dtype, sizes)});
    known_[leaf.value.get()] = leaves->back().value;
  }

  // Rules stand in the order of the nodes.
  void copy_node(const ir::Node& node, int number, size_t* rule) {
    TW_CHECK(node.regions.empty(), kNotImplemented,
             "sizes: a graph with control flow has those it was saved with");
    ir::Values inputs;
    for (const ir::Value& input : node.inputs) inputs.push_back(input ? known_.at(input.get()) : ir::Value());
    ir::AttrBox attrs(node.def->attr_type, node.attrs.get());
    std::vector<Scalar> features;
    for (; *rule < sizes_.rules.size() && sizes_.rules[*rule].node == number; ++*rule) {
      if (features.empty()) features = size_features(values_, {inputs.data(), inputs.size()});
      apply(sizes_.rules[*rule], node, features, attrs.get());
    }
    ir::Node& copy = bound_->append(*node.def, {inputs.data(), inputs.size()},
                                    {node.starts.begin(), node.starts.size()}, attrs.get());
    copy.lifted = node.lifted;
    copy.module = node.module;
    copy.origin = node.origin;
    for (size_t i = 0; i < node.outputs.size(); i++) known_[node.outputs[i].get()] = copy.outputs[i];
  }

  static void apply(const SizeRule& rule, const ir::Node& node, std::span<const Scalar> features,
                    void* attrs) {
    const ir::Param& param = node.def->schema.params[rule.param];
    Scalar number = Formula(rule.formula, features.size()).evaluate(features);
    AttrValue value = with_item(ir::read_attr(param.field, attrs), rule.item, number, node.def->name());
    ir::write_attr(param.field, attrs, value, node.def->name(), param.name.c_str());
  }

  const ir::Graph& graph_;
  const Sizes& sizes_;
  std::span<const int64_t> values_;
  std::unique_ptr<ir::Graph> bound_;
  std::unordered_map<const ir::ValueImpl*, ir::Value> known_;
};

}  // namespace

std::string Sizes::json(const ir::Graph& graph) const {
  std::string out = "{\"symbols\": [";
  for (const SizeSymbol& symbol : symbols) {
    out += out.back() == '[' ? "[" : ", [";
    append_json_string(out, symbol.name);
    out += cat(", ", symbol.least, ", ", symbol.most, ", [");
    for (const auto& place : symbol.places)
      out += cat(out.back() == '[' ? "[" : ", [", place.input, ", ", place.dim, "]");
    out += "]]";
  }
  out += "], \"rules\": [";
  for (const SizeRule& rule : rules) {
    out += cat(out.back() == '[' ? "[" : ", [", rule.node, ", ");
    append_json_string(out, graph.nodes[rule.node]->def->schema.params[rule.param].name);
    out += cat(", ", rule.item + 1, ", ");
    append_json_string(out, rule.formula);
    out += "]";
  }
  return out + "]}";
}

Sizes Sizes::parse(const std::string& text, const ir::Graph& graph) {
  Json json = parse_json(text);
  Sizes sizes;
  for (const Json& symbol : json.at("symbols", "sizes").list("symbols"))
    sizes.symbols.push_back(parse_symbol(symbol, graph));
  for (const Json& rule : json.at("rules", "sizes").list("rules")) {
    sizes.rules.push_back(parse_rule(rule, graph));
    size_t count = sizes.rules.size();
    TW_CHECK(count < 2 || sizes.rules[count - 2].node <= sizes.rules[count - 1].node, kValue,
             "sizes: the rules must stand in the order of their nodes");
  }
  return sizes;
}

std::vector<int64_t> Sizes::values_of(std::span<const Dims* const> sizes, const std::vector<ir::Leaf>& inputs,
                                      const std::string& what) const {
  std::vector<int64_t> values;
  for (const SizeSymbol& symbol : symbols) {
    const SizeSymbol::Place& first = symbol.places[0];
    int64_t value = (*sizes[first.input])[first.dim];
    TW_CHECK(value >= symbol.least && value <= symbol.most, kValue, what, symbol.name, " must be in [",
             symbol.least, ", ", symbol.most, "], got ", value, " in input \"", inputs[first.input].name,
             "\"");
    for (const auto& place : symbol.places) {
      int64_t other = (*sizes[place.input])[place.dim];
      TW_CHECK(other == value, kValue, what, symbol.name, " is ", value, " in input \"",
               inputs[first.input].name, "\" and ", other, " in input \"", inputs[place.input].name, "\"");
    }
    values.push_back(value);
  }
  return values;
}

const std::string& Sizes::name_of(int input, int dim) const {
  for (const SizeSymbol& symbol : symbols)
    for (const auto& place : symbol.places)
      if (place.input == input && place.dim == dim) return symbol.name;
  return kNoName;
}

std::string Sizes::type_text(const std::vector<ir::Leaf>& inputs, int input) const {
  const ir::GraphValue& value = *inputs[input].value;
  std::string out = cat(value.dtype, "[");
  for (size_t dim = 0; dim < value.sizes.size(); dim++) {
    const std::string& name = name_of(input, static_cast<int>(dim));
    out += cat(dim ? ", " : "", name.empty() ? std::to_string(value.sizes[dim]) : name);
  }
  return out + "]";
}

std::vector<Scalar> size_features(std::span<const int64_t> symbols, std::span<const ir::Value> inputs) {
  std::vector<Scalar> features(symbols.begin(), symbols.end());
  for (const ir::Value& input : inputs)
    if (input) features.insert(features.end(), input->sizes.begin(), input->sizes.end());
  return features;
}

std::unique_ptr<ir::Graph> bind_sizes(const ir::Graph& graph, const Sizes& sizes,
                                      std::span<const int64_t> values) {
  return Binder(graph, sizes, values).run();
}

}  // namespace tw::session

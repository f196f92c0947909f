#include "ir/layouts.h"

#include <algorithm>

#include "ir/control.h"

namespace tw::ir {

namespace {

// The nested array of ranks after a device type.
class RankArray {
 public:
  explicit RankArray(TextLexer& lexer) : lexer_(lexer) { level(0); }
  Dims shape;
  std::vector<int64_t> ranks;

 private:
  void level(size_t axis) {
    Token open = lexer_.peek();
    lexer_.expect_symbol('[');
    int64_t count = 0;
    do {
      if (lexer_.at_symbol('['))
        level(axis + 1);
      else
        rank(axis);
      count++;
    } while (lexer_.take_symbol(','));
    lexer_.expect_symbol(']');
    // Levels close from the inside out: the sizes of inner ones are known first.
    if (shape.size() <= axis) shape.resize(axis + 1, -1);
    if (shape[axis] >= 0 && shape[axis] != count) lexer_.fail_at(open, "rows of equal length");
    shape[axis] = count;
  }

  void rank(size_t axis) {
    if (depth_ >= 0 && depth_ != static_cast<int>(axis)) lexer_.fail("ranks at one depth");
    depth_ = static_cast<int>(axis);
    ranks.push_back(lexer_.expect_int("a rank"));
  }

  TextLexer& lexer_;
  int depth_ = -1;  // where ranks stand
};

sbp::Sbp parse_split(TextLexer& lexer) {
  sbp::Sbp split = sbp::split(lexer.expect_int("a dim"));
  if (lexer.take_symbol(',')) {
    bool unit = lexer.at_word("unit");
    if (!unit) lexer.expect_word("sizes");
    if (unit) lexer.next();
    lexer.expect_symbol('=');
    if (unit) {
      split.unit = lexer.expect_int("a unit");
    } else {
      lexer.expect_symbol('[');
      do split.sizes.push_back(lexer.expect_int("a size"));
      while (lexer.take_symbol(','));
      lexer.expect_symbol(']');
    }
  }
  return split;
}

sbp::Sbp parse_partial(TextLexer& lexer) {
  for (auto op : {sbp::ReduceOp::kSum, sbp::ReduceOp::kMax, sbp::ReduceOp::kMin}) {
    std::string name = sbp::name_of(sbp::partial(op));  // "P(sum)"
    if (lexer.take_word(name.substr(2, name.size() - 3))) return sbp::partial(op);
  }
  lexer.fail("sum, max or min");
}

sbp::Sbp parse_sbp(TextLexer& lexer) {
  if (lexer.take_word("B")) return sbp::broadcast();
  bool split = lexer.at_word("S");
  if (!split && !lexer.at_word("P")) lexer.fail("S, B or P");
  lexer.next();
  lexer.expect_symbol('(');
  sbp::Sbp result = split ? parse_split(lexer) : parse_partial(lexer);
  lexer.expect_symbol(')');
  return result;
}

}  // namespace

sbp::LayoutRef parse_layout(TextLexer& lexer) {
  Token type = lexer.expect(TokenKind::kWord, "a device type");
  RankArray array(lexer);
  sbp::NdSbp sbp;
  bool several = lexer.take_symbol('(');
  do sbp.push_back(parse_sbp(lexer));
  while (several && lexer.take_symbol(','));
  if (several) lexer.expect_symbol(')');
  try {
    return sbp::layout(sbp::placement(type.text, array.shape, array.ranks), sbp);
  } catch (const Error& error) {
    TW_FAIL(kValue, lexer.place_of(type), error.what());
  }
}

// By name: builds of some families alone have neither op.
bool is_boxing(const OpDef& def) { return def.schema.name == "boxing"; }
bool is_boxing_part(const OpDef& def) { return def.schema.name == "boxing_part"; }

bool is_take_part(const OpDef& def) { return def.schema.name == "take_part"; }
bool is_join_parts(const OpDef& def) { return def.schema.name == "join_parts"; }

void LocalNodes::add(const Graph& graph) {
  for (const auto& node : graph.nodes) {
    if (!node->regions.empty())
      add_control(*node);
    else if (is_take_part(*node->def) || makes(*node))
      for (const GraphRef& output : node->outputs) values_.insert(output.get());
  }
}

// What goes into regions, and comes out; of loops round, until nothing is found any more.
void LocalNodes::add_control(const Node& node) {
  const bool loop = control_kind(*node.def) == ControlKind::kLoop;
  const size_t first = loop ? 2 : 1;
  const int carried = loop ? loop_shape(node).carried : 0;
  const size_t skipped = node.regions[0]->outputs.size() - node.outputs.size();  // whether a loop goes on
  for (bool found = true; found;) {
    found = false;
    for (const auto& region : node.regions) {
      for (size_t i = 0; i < region->inputs.size(); i++)
        if (holds(node.inputs[first + i])) values_.insert(region->inputs[i].value.get());
      add(*region);
      for (size_t i = 0; i < node.outputs.size(); i++) {
        if (!holds(region->outputs[skipped + i])) continue;
        values_.insert(node.outputs[i].get());
        if (static_cast<int>(i) < carried) found |= values_.insert(region->inputs[i].value.get()).second;
      }
    }
  }
}

bool LocalNodes::makes(const Node& node) const {
  if (values_.empty() || !node.regions.empty() || is_boxing(*node.def) || is_join_parts(*node.def) ||
      is_take_part(*node.def))
    return false;
  return std::ranges::any_of(node.inputs, [this](const Value& input) { return holds(input); });
}

std::vector<const GraphValue*> tensors_of(const Node& node) {
  std::vector<const GraphValue*> tensors;
  for (const Value& input : node.inputs) tensors.push_back(static_cast<const GraphValue*>(input.get()));
  for (const GraphRef& output : node.outputs) tensors.push_back(output.get());
  return tensors;
}

std::vector<Dims> sizes_of(const std::vector<const GraphValue*>& tensors) {
  std::vector<Dims> sizes;
  for (const GraphValue* tensor : tensors) sizes.push_back(tensor ? tensor->sizes : Dims());
  return sizes;
}

std::vector<sbp::Signature> signatures_of(const Node& node) {
  sbp::RuleContext context;
  for (const Value& input : node.inputs) {
    if (input)
      context.add_input(input->sizes, input->dtype);
    else
      context.add_absent_input();
  }
  // Rules see the outputs of the schema: what is written in place has counted as an input.
  std::vector<int> written = mutated_inputs(node);
  for (size_t i = 0; i + written.size() < node.outputs.size(); i++)
    context.add_output(node.outputs[i]->sizes, node.outputs[i]->dtype);
  context.attributes = node.attrs.get();
  sbp::Rule rule = is_control(*node.def) ? nullptr : node.def->sbp_rule;
  std::vector<sbp::Signature> all = sbp::signatures_of(rule, std::move(context));
  for (sbp::Signature& one : all)
    for (int input : written) one.outputs.push_back(one.inputs[input]);
  return all;
}

}  // namespace tw::ir

#include <unordered_map>

#include "ir/attr_parse.h"
#include "ir/control.h"
#include "ir/graph_text.h"
#include "ir/layouts.h"

namespace tw::ir {

namespace {

// What stands between the parentheses of a node.
struct Call {
  explicit Call(const OpDef& op) : def(op), attrs(op.attr_type, op.defaults()) {}
  const OpDef& def;
  AttrBox attrs;
  Values inputs;
  SmallVector<int, 4> starts;
  std::vector<Lifted> lifted;
};

class GraphParser {
 public:
  explicit GraphParser(std::string_view text)
      : lexer_(text), graph_(std::make_unique<Graph>()), at_(graph_.get()) {}

  std::unique_ptr<Graph> parse() {
    lexer_.expect_word("graph");
    graph_->name = lexer_.expect_string("the name of the graph");
    if (lexer_.take_word("on")) graph_->device = lexer_.expect_string("the name of a device");
    body();
    if (lexer_.peek().kind != TokenKind::kEnd) lexer_.fail("the end");
    return std::move(graph_);
  }

 private:
  // { statements return values draws n }, into the graph at hand
  void body() {
    lexer_.expect_symbol('{');
    while (!lexer_.at_word("return")) statement();
    lexer_.next();
    if (lexer_.peek().kind == TokenKind::kValue) {
      do at_->outputs.push_back(value());
      while (lexer_.take_symbol(','));
    }
    if (lexer_.take_word("draws")) at_->draws = count("the number of draws");
    lexer_.expect_symbol('}');
  }

  // A region sees nothing of what is around it.
  std::unique_ptr<Graph> region(const char* name) {
    lexer_.expect_word(name);
    auto graph = std::make_unique<Graph>();
    graph->name = name;
    Graph* around = std::exchange(at_, graph.get());
    auto values = std::exchange(values_, {});
    body();
    values_ = std::move(values);
    at_ = around;
    return graph;
  }

  void statement() {
    if (lexer_.take_word("input")) return leaf(at_->inputs);
    if (at_ != graph_.get()) return node();
    if (lexer_.at_word("variable")) {
      lexer_.next();
      variables_.emplace(lexer_.peek().index, static_cast<int>(graph_->variables.size()));
      return leaf(graph_->variables);
    }
    if (lexer_.take_word("constant")) return leaf(graph_->constants);
    if (lexer_.take_word("number")) return number();
    if (lexer_.take_word("assign")) return assign();
    node();
  }

  // --- leaves, numbers, assignments ---

  void leaf(std::vector<Leaf>& leaves) {
    Token token = lexer_.expect(TokenKind::kValue, "a value (%0)");
    std::string name = lexer_.expect_string("a name");
    lexer_.expect_symbol(':');
    Meta meta = type();
    leaves.push_back({std::move(name), make_graph_value(meta.dtype, meta.sizes)});
    leaves.back().value->layout = layout();
    define(token, leaves.back().value);
  }

  void number() {
    Token token = lexer_.expect(TokenKind::kLifted, "a number ($0)");
    if (!numbers_.emplace(token.index, static_cast<int>(graph_->numbers.size())).second)
      lexer_.fail_at(token, "a number that is not defined yet");
    graph_->numbers.push_back(lexer_.expect_string("a name"));
  }

  void assign() {
    Token token = lexer_.peek();
    value();
    auto variable = variables_.find(token.index);
    if (variable == variables_.end()) lexer_.fail_at(token, "a variable");
    lexer_.expect_symbol('=');
    graph_->assignments.push_back({variable->second, value()});
  }

  int64_t count(const char* wanted) {
    Token token = lexer_.peek();
    int64_t result = lexer_.expect_int(wanted);
    if (result < 0) lexer_.fail_at(token, cat(wanted, ", not below 0,"));
    return result;
  }

  // --- values and types ---

  void define(const Token& token, const GraphRef& value) {
    if (!values_.emplace(token.index, value).second) lexer_.fail_at(token, "a value that is not defined yet");
  }

  Value value() {
    Token token = lexer_.expect(TokenKind::kValue, "a value (%0)");
    auto found = values_.find(token.index);
    if (found == values_.end()) lexer_.fail_at(token, "a value defined before");
    return found->second;
  }

  Meta type() {
    Token token = lexer_.expect(TokenKind::kWord, "a dtype");
    Meta meta;
    if (!parse_dtype(token.text, &meta.dtype)) lexer_.fail_at(token, "a dtype");
    lexer_.expect_symbol('[');
    while (!lexer_.take_symbol(']')) {
      if (!meta.sizes.empty()) lexer_.expect_symbol(',');
      meta.sizes.push_back(count("a size"));
    }
    at_token(token, [&] { check_sizes(meta.dtype, meta.sizes); });
    return meta;
  }

  // Null where none is written.
  sbp::LayoutRef layout() { return lexer_.take_symbol('@') ? parse_layout(lexer_) : sbp::LayoutRef(); }

  // Runs what may throw an error that does not know its place in the text.
  template <class Body>
  void at_token(const Token& token, const Body& body) {
    try {
      body();
    } catch (const std::exception& error) {
      TW_FAIL(kValue, lexer_.place_of(token), error.what());
    }
  }

  // --- nodes ---

  void node() {
    SmallVector<Token, 2> results;
    if (lexer_.peek().kind == TokenKind::kValue) {
      do results.push_back(lexer_.expect(TokenKind::kValue, "a value (%0)"));
      while (lexer_.take_symbol(','));
      lexer_.expect_symbol('=');
    }
    Token name = lexer_.expect(TokenKind::kWord, results.empty() ? "a statement, or return," : "an op");
    const OpDef* def = registry().find(name.text);
    if (!def) lexer_.fail_at(name, "an op");
    if (!def->infer) lexer_.fail_at(name, "an op that is not written with others");
    Call call(*def);
    arguments(name, call);
    Node* node = nullptr;
    int64_t drawn = draw(*def);
    std::vector<std::unique_ptr<Graph>> regions;
    for (const char* region_name : region_names(*def)) regions.push_back(region(region_name));
    at_token(name, [&] {
      node = &at_->append(*def, {call.inputs.begin(), call.inputs.size()},
                          {call.starts.begin(), call.starts.size()}, call.attrs.get(), std::move(regions));
    });
    node->lifted = std::move(call.lifted);
    if (drawn >= 0) set_draw(*node, drawn);
    outputs(name, *node, results);
    if (lexer_.take_word("in"))
      node->module = graph_->strings.intern(lexer_.expect_string("a module's path"));
    if (lexer_.take_word("at")) node->origin = graph_->strings.intern(lexer_.expect_string("a line of code"));
  }

  void arguments(const Token& name, Call& call) {
    lexer_.expect_symbol('(');
    bool first = true;
    auto comma = [&] {
      if (!first && !lexer_.take_symbol(',')) lexer_.fail("\",\" or \")\"");
      first = false;
    };
    const auto& params = call.def.schema.params;
    for (const Param& param : params) {
      if (param.kind == ParamKind::kAttr) continue;
      comma();
      input(param, call);
    }
    if (call.def.schema.has_lists) call.starts.push_back(static_cast<int>(call.inputs.size()));
    std::vector<char> seen(params.size());
    while (!lexer_.at_symbol(')')) {
      comma();
      attribute(call, seen);
    }
    for (size_t i = 0; i < params.size(); i++)
      if (params[i].kind == ParamKind::kAttr && !params[i].has_default && !seen[i])
        lexer_.fail(cat(params[i].name, "=, which ", name.text, " has no default for,"));
    lexer_.expect_symbol(')');
  }

  Value item(const Param& param) {
    if (param.optional && lexer_.take_word("None")) return Value();
    if (lexer_.peek().kind != TokenKind::kValue)
      lexer_.fail(cat("a value (%0)", param.optional ? " or None" : "", " for ", param.name));
    return value();
  }

  void input(const Param& param, Call& call) {
    if (call.def.schema.has_lists) call.starts.push_back(static_cast<int>(call.inputs.size()));
    if (param.kind == ParamKind::kTensor) return call.inputs.push_back(item(param));
    if (!lexer_.take_symbol('[')) lexer_.fail(cat("a list for ", param.name));
    for (bool first = true; !lexer_.take_symbol(']'); first = false) {
      if (!first) lexer_.expect_symbol(',');
      call.inputs.push_back(item(param));
    }
  }

  void attribute(Call& call, std::vector<char>& seen) {
    Token name = lexer_.expect(TokenKind::kWord, cat("an attribute of ", call.def.name()));
    const auto& params = call.def.schema.params;
    size_t i = 0;
    while (i < params.size() && (params[i].kind != ParamKind::kAttr || params[i].name != name.text)) i++;
    if (i == params.size() || seen[i])
      lexer_.fail_at(name,
                     cat(seen.size() > i ? "another attribute of " : "an attribute of ", call.def.name()));
    seen[i] = 1;
    lexer_.expect_symbol('=');
    std::vector<LiftedItem> lifted;
    Token at = lexer_.peek();
    AttrValue value = parse_attr(lexer_, params[i], &lifted);
    at_token(at, [&] {
      write_attr(params[i].field, call.attrs.get(), value, call.def.name(), params[i].name.c_str());
    });
    for (const LiftedItem& one : lifted) {
      auto number = numbers_.find(one.number);
      if (number == numbers_.end()) lexer_.fail_at(at, cat("$", one.number, " defined before"));
      call.lifted.push_back({static_cast<int>(i), one.item, number->second});
    }
  }

  // The number of the draw, -1 where the op makes none; of regions, it is not known here whether they do.
  int64_t draw(const OpDef& def) {
    if (def.random_key_offset < 0 && !is_control(def)) return -1;
    if (!lexer_.at_word("draw")) {
      if (is_control(def)) return -1;
      lexer_.fail("\"draw\" and the number of the draw");
    }
    lexer_.next();
    return count("the number of the draw");
  }

  void outputs(const Token& name, Node& node, const SmallVector<Token, 2>& results) {
    if (results.size() != node.outputs.size())
      TW_FAIL(kValue, lexer_.place_of(name), name.text, " has ", node.outputs.size(), " outputs, got ",
              results.size());
    if (results.empty()) return;
    lexer_.expect_symbol(':');
    for (size_t i = 0; i < results.size(); i++) {
      if (i > 0) lexer_.expect_symbol(',');
      Token at = lexer_.peek();
      Meta stated = type();
      const GraphValue& inferred = *node.outputs[i];
      if (stated.dtype != inferred.dtype || !(stated.sizes == inferred.sizes))
        TW_FAIL(kValue, lexer_.place_of(at), results[i].text, " is ",
                type_text(inferred.dtype, inferred.sizes), " by inference, but is said to be ",
                type_text(stated.dtype, stated.sizes));
      node.outputs[i]->layout = layout();
      define(results[i], node.outputs[i]);
    }
  }

  TextLexer lexer_;
  std::unique_ptr<Graph> graph_;
  Graph* at_;                                         // it, or the region that is read
  std::unordered_map<int, GraphRef> values_;          // of that
  std::unordered_map<int, int> variables_, numbers_;  // from the text's numbers to indices
};

}  // namespace

std::unique_ptr<Graph> parse_graph(std::string_view text) { return GraphParser(text).parse(); }

}  // namespace tw::ir

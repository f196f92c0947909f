// Arithmetic that is known to leave a value as it is, or to undo itself, to the last bit.
//
//   %1 = full(size=[], fill_value=1.0, dtype=float32) : float32[]
//   %2 = mul(%0, %1) : float32[8]
//   %3 = neg(%2) : float32[8]
//   %4 = neg(%3) : float32[8]
//   return %4
// → (and dead code)
//   return %0
//
// Exact, and done:
//   x * 1, x / 1               real dtypes; the result must have the shape and dtype of x
//   x + 0, 0 + x               integers and bools; floats only for -0.0, since -0.0 + 0.0 is 0.0
//   x - 0                      integers; floats only for 0.0, since -0.0 - -0.0 is 0.0
//   (a + b) - b, (a - b) + b   integers, which wrap around
//   -(-x), ~~x, conj(conj(x))  all dtypes
//   f(f(x)) = f(x)             relu, floor, ceil, trunc, sign; abs of real values
//   where(c, x, x)             of the shape of the result
// Not exact, and left alone:
//   x * 0 (NaN, infinities, -0.0), x - x and x / x (the same), (a + b) - b of floats (rounding),
//   x * 1 of complex values (an infinite part times 0 is NaN), x / c as x * (1 / c) (rounding twice)
#include <cmath>
#include <unordered_map>

#include "passes/replacements.h"
#include "passes/simplify/simplify.h"
#include "passes/uniform.h"

namespace tw::passes {

namespace {

using ir::Node;
using ir::Value;

class Algebra {
 public:
  explicit Algebra(ir::Graph& graph) : graph_(graph), replacements_(graph), uniform_(graph) {}

  void run() {
    for (auto& node : graph_.nodes) {
      replacements_.update(*node);
      uniform_.learn(*node);
      auto rule = rules().find(node->def);
      if (rule == rules().end()) continue;
      Value value = (this->*rule->second)(*node);
      const ir::GraphValue& output = *node->outputs[0];
      if (value && value->dtype == output.dtype && value->sizes == output.sizes)
        replacements_.replace(*node, value);
    }
    replacements_.finish();
  }

 private:
  // What the output equals once dtype and shape agree, or null.
  using Rule = Value (Algebra::*)(const Node& node);

  static const std::unordered_map<const ir::OpDef*, Rule>& rules() {
    static const auto table = [] {
      std::unordered_map<const ir::OpDef*, Rule> rules;
      auto add = [&](Rule rule, std::initializer_list<const char*> names) {
        for (const char* name : names)
          if (const ir::OpDef* def = ir::registry().find(name)) rules.emplace(def, rule);
      };
      add(&Algebra::mul, {"mul"});
      add(&Algebra::divide, {"true_divide"});
      add(&Algebra::add, {"add"});
      add(&Algebra::sub, {"sub"});
      add(&Algebra::involution, {"neg", "bitwise_not", "conj"});
      add(&Algebra::projection, {"relu", "floor", "ceil", "trunc", "sign", "abs"});
      add(&Algebra::choice, {"where"});
      return rules;
    }();
    return table;
  }

  const Node* maker(const Value& value) const { return ir::graph_value(value).node; }

  // Is every element `number`, 0 or 1? Floats tell their zeros apart.
  bool is_all(const Value& value, int number, bool minus = false) const {
    const std::optional<Scalar>& known = uniform_.of(value);
    DType dtype = value->dtype;
    if (!known || is_complex(dtype) || known->kind() == DTypeKind::kComplex) return false;
    if (is_float(dtype))
      return known->to_double() == number && (number != 0 || std::signbit(known->to_double()) == minus);
    if (!known->is_integral()) return false;
    return is_bool(dtype) ? known->to_bool() == (number != 0) : known->to_int() == number;
  }
  bool is_nothing_added(const Value& value) const { return is_all(value, 0, is_float(value->dtype)); }
  bool is_nothing_taken(const Value& value) const { return is_all(value, 0); }

  // add and sub scale their second operand.
  static bool is_unscaled(const Node& node) {
    ir::AttrValue alpha = ir::read_attr(node.def->schema.params[2].field, node.attrs.get());
    return node.lifted.empty() && std::get<Scalar>(alpha) == Scalar(1);
  }

  Value mul(const Node& node) {
    if (is_all(node.inputs[1], 1)) return node.inputs[0];
    return is_all(node.inputs[0], 1) ? node.inputs[1] : Value();
  }

  Value divide(const Node& node) { return is_all(node.inputs[1], 1) ? node.inputs[0] : Value(); }

  Value add(const Node& node) {
    if (!is_unscaled(node)) return {};
    if (is_nothing_added(node.inputs[1])) return node.inputs[0];
    if (is_nothing_added(node.inputs[0])) return node.inputs[1];
    for (int i = 0; i < 2; i++)
      if (Value value = minuend(node.inputs[i], node.inputs[1 - i])) return value;
    return {};
  }

  Value sub(const Node& node) {
    if (!is_unscaled(node)) return {};
    if (is_nothing_taken(node.inputs[1])) return node.inputs[0];
    const Node* sum = maker(node.inputs[0]);
    if (!sum || sum->def->schema.name != "add" || !is_whole(node) || !is_unscaled(*sum)) return {};
    for (int i = 0; i < 2; i++)
      if (sum->inputs[i] == node.inputs[1]) return sum->inputs[1 - i];
    return {};
  }

  // a, where `difference` is a - b of integers.
  Value minuend(const Value& difference, const Value& b) const {
    const Node* sub = maker(difference);
    if (!sub || sub->def->schema.name != "sub" || !is_whole(*sub) || !is_unscaled(*sub)) return {};
    return sub->inputs[1] == b ? sub->inputs[0] : Value();
  }
  static bool is_whole(const Node& node) { return is_integral(node.outputs[0]->dtype); }

  Value involution(const Node& node) {
    const Node* before = maker(node.inputs[0]);
    return before && before->def == node.def ? before->inputs[0] : Value();
  }

  Value projection(const Node& node) {
    const Node* before = maker(node.inputs[0]);
    return before && before->def == node.def ? node.inputs[0] : Value();
  }

  Value choice(const Node& node) { return node.inputs[1] == node.inputs[2] ? node.inputs[1] : Value(); }

  ir::Graph& graph_;
  Replacements replacements_;
  Uniform uniform_;
};

}  // namespace

void simplify_algebra(ir::Graph& graph) { Algebra(graph).run(); }

}  // namespace tw::passes

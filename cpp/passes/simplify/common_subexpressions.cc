// Computes once what several nodes compute: the same op on the same inputs with the same attributes.
//
//   %2 = transpose(%0, dim0=0, dim1=1) : float32[4, 2]
//   %3 = mm(%1, %2) : float32[2, 2]
//   %4 = transpose(%0, dim0=0, dim1=1) : float32[4, 2]
//   %5 = mm(%1, %4) : float32[2, 2]
//   %6 = add(%3, %5) : float32[2, 2]
//   return %6
// →
//   %2 = transpose(%0, dim0=0, dim1=1) : float32[4, 2]
//   %3 = mm(%1, %2) : float32[2, 2]
//   %4 = add(%3, %3) : float32[2, 2]
//   return %4
//
// The first of the nodes stays. Random nodes are never shared: two with one draw are a recomputed one and its
// original, two with different draws differ. Nor are large values made of nothing (zeros to add gradients
// into): they are cheaper made twice than kept in between, and each may be written in place. Operands of ops
// that commute to the bit may stand in either order (which of two NaNs comes out of a sum is nobody's
// promise).
//
// One walk with a hash table: near-linear. It undoes recomputation, so it runs before.
#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "ir/attr_text.h"
#include "passes/replacements.h"
#include "passes/simplify/simplify.h"

namespace tw::passes {

namespace {

using ir::Node;

size_t mix(size_t hash, size_t word) { return (hash ^ word) * 0x9E3779B97F4A7C15 + (hash >> 31); }

// Products of complex numbers are left out: which of the four products is fused into a sum is up to the
// compiler.
bool commutes(const Node& node) {
  static constexpr std::string_view kOps[] = {"add",         "mul",        "eq",         "ne",
                                              "bitwise_and", "bitwise_or", "bitwise_xor"};
  if (node.inputs.size() != 2 || is_complex(node.inputs[0]->dtype) || !node.lifted.empty()) return false;
  return std::find(std::begin(kOps), std::end(kOps), node.def->name()) != std::end(kOps);
}

// A node as a key. Inputs of commuting ops count in the order of their addresses.
struct Expression {
  const Node* node;
  size_t hash;
  bool swapped;

  explicit Expression(const Node& of) : node(&of), hash(reinterpret_cast<size_t>(of.def)), swapped(false) {
    bool plain = attributes();
    swapped = plain && commutes(of) && of.inputs[0].get() > of.inputs[1].get();
    for (size_t i = 0; i < of.inputs.size(); i++) hash = mix(hash, reinterpret_cast<size_t>(input(i)));
    for (int start : of.starts) hash = mix(hash, static_cast<size_t>(start));
    for (const ir::Lifted& one : of.lifted) hash = mix(hash, static_cast<size_t>(one.number));
    for (const ir::GraphRef& output : of.outputs)
      hash = mix(hash, reinterpret_cast<size_t>(output->layout.get()));
  }

  const ir::ValueImpl* input(size_t i) const { return node->inputs[swapped ? 1 - i : i].get(); }

  bool operator==(const Expression& other) const {
    const Node &a = *node, &b = *other.node;
    if (a.def != b.def || a.inputs.size() != b.inputs.size() || !(a.starts == b.starts)) return false;
    for (size_t i = 0; i < a.inputs.size(); i++)
      if (input(i) != other.input(i)) return false;
    auto same_number = [](const ir::Lifted& x, const ir::Lifted& y) {
      return x.param == y.param && x.item == y.item && x.number == y.number;
    };
    if (!std::equal(a.lifted.begin(), a.lifted.end(), b.lifted.begin(), b.lifted.end(), same_number))
      return false;
    for (size_t i = 0; i < a.outputs.size(); i++)
      if (a.outputs[i]->layout != b.outputs[i]->layout) return false;
    for (const ir::Param& param : a.def->schema.params)
      if (param.kind == ir::ParamKind::kAttr && !ir::same_attr(ir::read_attr(param.field, a.attrs.get()),
                                                               ir::read_attr(param.field, b.attrs.get())))
        return false;
    return true;
  }

 private:
  // Hashes them; true when all equal their defaults.
  bool attributes() {
    bool plain = true;
    for (const ir::Param& param : node->def->schema.params) {
      if (param.kind != ir::ParamKind::kAttr) continue;
      ir::AttrValue value = ir::read_attr(param.field, node->attrs.get());
      hash = mix(hash, ir::hash_attr(value));
      plain &= param.has_default && ir::same_attr(value, ir::read_attr(param.field, node->def->defaults()));
    }
    return plain;
  }
};

struct HashOf {
  size_t operator()(const Expression& expression) const { return expression.hash; }
};

bool may_share(const Node& node) {
  if (node.def->random_key_offset >= 0 || node.outputs.empty() || !node.regions.empty()) return false;
  constexpr int64_t kSmall = 64;
  return !node.inputs.empty() || node.outputs[0]->count() <= kSmall;
}

}  // namespace

void share_common_subexpressions(ir::Graph& graph) {
  Replacements replacements(graph);
  std::unordered_set<Expression, HashOf> seen;
  seen.reserve(graph.nodes.size());
  for (auto& node : graph.nodes) {
    replacements.update(*node);
    if (!may_share(*node)) continue;
    auto [first, fresh] = seen.emplace(*node);
    if (fresh) continue;
    for (size_t i = 0; i < node->outputs.size(); i++)
      replacements.replace(*node, first->node->outputs[i], static_cast<int>(i));
  }
  replacements.finish();
}

}  // namespace tw::passes

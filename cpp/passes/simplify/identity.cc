// Takes out what leaves its input as it is: values are immutable, so a copy is the value itself.
//
//   %1 = clone(%0) : float32[2, 6]
//   %2 = transpose(%1, dim0=0, dim1=1) : float32[6, 2]
//   %3 = transpose(%2, dim0=-1, dim1=0) : float32[2, 6]
//   %4 = exp(%3) : float32[2, 6]
//   return %2, %4
// →
//   %1 = transpose(%0, dim0=0, dim1=1) : float32[6, 2]
//   %2 = exp(%0) : float32[2, 6]
//   return %1, %2
//
// These are clone, conj and real of real values, copy over a value of the same type, casts to the same dtype,
// views and slices of the same shape, permutations of nothing, cat of one value, a window_write of what was
// just written there; and pairs of which the second undoes the first: transposes and permutes, reshapes
// (squeeze, unsqueeze, view: any number of them), and casts to a dtype that holds every value of the first,
// then back. A reshape of reshapes becomes one of what they started from, and those in between may then be
// dead code; where that is a transpose or another window on memory the first reshape may copy, and the others
// stay reshapes of the copy.
#include <unordered_map>

#include "ir/attr_text.h"
#include "passes/replacements.h"
#include "passes/simplify/simplify.h"

namespace tw::passes {

namespace {

using ir::Node;
using ir::Value;

bool same_type(const ir::ValueImpl& a, const ir::ValueImpl& b) {
  return a.dtype == b.dtype && a.sizes == b.sizes;
}

// Whole numbers that a dtype holds without gaps, in bits without the sign.
int exact_bits(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return 1;
    case DType::kUInt8:
    case DType::kBFloat16:
      return 8;
    case DType::kInt8:
      return 7;
    case DType::kInt16:
      return 15;
    case DType::kInt32:
      return 31;
    case DType::kInt64:
      return 63;
    case DType::kFloat16:
      return 11;
    case DType::kFloat32:
    case DType::kComplex64:
      return 24;
    default:
      return 53;
  }
}

// Does every value of `narrow` come back unchanged from `wide`?
bool holds(DType wide, DType narrow) {
  if (wide == narrow || is_bool(narrow)) return true;
  if (is_bool(wide)) return false;
  if (is_complex(wide)) return holds(real_of(wide), real_of(narrow));
  if (is_complex(narrow)) return false;
  if (is_float(narrow)) return is_float(wide) && !is_half(wide) && size_of(wide) > size_of(narrow);
  bool sign_lost = wide == DType::kUInt8;
  return !sign_lost && exact_bits(wide) >= exact_bits(narrow);
}

class Identities {
 public:
  explicit Identities(ir::Graph& graph) : graph_(graph), replacements_(graph) {}

  void run() {
    for (auto& node : graph_.nodes) {
      replacements_.update(*node);
      auto rule = rules().find(node->def);
      if (rule == rules().end()) continue;
      Value value = (this->*rule->second)(*node);
      if (value) replacements_.replace(*node, value);
    }
    replacements_.finish();
  }

 private:
  using Rule = Value (Identities::*)(Node& node);

  static const std::unordered_map<const ir::OpDef*, Rule>& rules() {
    static const auto table = [] {
      std::unordered_map<const ir::OpDef*, Rule> rules;
      auto add = [&](Rule rule, std::initializer_list<const char*> names) {
        for (const char* name : names)
          if (const ir::OpDef* def = ir::registry().find(name)) rules.emplace(def, rule);
      };
      add(&Identities::whole, {"clone", "row_major", "slice", "expand", "cat", "slice_scatter_zeros"});
      add(&Identities::of_real, {"conj", "real"});
      add(&Identities::copy, {"copy"});
      add(&Identities::cast, {"cast", "view_dtype"});
      add(&Identities::reshape, {"reshape", "view"});
      add(&Identities::regroup, {"squeeze", "unsqueeze"});
      add(&Identities::permute, {"permute", "transpose"});
      add(&Identities::write, {"window_write"});
      return rules;
    }();
    return table;
  }

  // Ops that can only keep or repeat, leave out or add elements: of the same type, they kept all.
  Value whole(Node& node) {
    bool one = node.inputs.size() == 1;
    return one && same_type(*node.inputs[0], *node.outputs[0]) ? node.inputs[0] : Value();
  }

  Value of_real(Node& node) { return is_complex(node.inputs[0]->dtype) ? Value() : node.inputs[0]; }

  Value copy(Node& node) { return same_type(*node.inputs[1], *node.outputs[0]) ? node.inputs[1] : Value(); }

  // y[i] += 1 writes twice in Python: in place, and back to y.
  Value write(Node& node) {
    const Node* before = maker(node.inputs[0]);
    if (!before || before->def != node.def || before->inputs[1] != node.inputs[1]) return {};
    for (const ir::Param& param : node.def->schema.params)
      if (param.kind == ir::ParamKind::kAttr &&
          !ir::same_attr(ir::read_attr(param.field, node.attrs.get()),
                         ir::read_attr(param.field, before->attrs.get())))
        return {};
    return node.inputs[0];
  }

  const Node* maker(const Value& value) const { return ir::graph_value(value).node; }

  Value cast(Node& node) {
    if (Value same = whole(node)) return same;
    const Node* before = maker(node.inputs[0]);
    if (!before || before->def != node.def || !same_type(*before->inputs[0], *node.outputs[0])) return {};
    bool bits_kept = node.def->name() == std::string_view("view_dtype");
    return bits_kept || holds(before->outputs[0]->dtype, node.outputs[0]->dtype) ? before->inputs[0]
                                                                                 : Value();
  }

  // All of these keep the elements in row-major order: what matters is where a chain of them starts.
  struct Chain {
    Value start;
    Value dense;  // the first that lies in memory without gaps, as far as that is known here
  };

  Value regroup(Node& node) {
    if (Value same = whole(node)) return same;
    const Value& input = node.inputs[0];
    auto before = chains_.find(input.get());
    Chain chain = before != chains_.end() ? before->second : Chain{input, is_window(input) ? Value() : input};
    if (same_type(*chain.start, *node.outputs[0])) return chain.start;
    chains_.emplace(node.outputs[0].get(), std::move(chain));
    return {};
  }
  bool is_window(const Value& value) const { return maker(value) && maker(value)->def->view; }

  // The shape that it asks for does not depend on the one it is given.
  Value reshape(Node& node) {
    if (Value same = regroup(node)) return same;
    Value& dense = chains_.at(node.outputs[0].get()).dense;
    if (dense)
      node.inputs[0] = dense;
    else
      dense = node.outputs[0];
    return {};
  }

  // Which dim of the input each dim of the output is.
  static SmallVector<int64_t, 6> order(const Node& node) {
    const ir::Schema& schema = node.def->schema;
    int64_t rank = node.inputs[0]->rank();
    SmallVector<int64_t, 6> dims;
    auto read = [&](int param) { return ir::read_attr(schema.params[param].field, node.attrs.get()); };
    if (schema.name == "permute") return wrap_dims(std::get<IntList>(read(1)), rank, "permute");
    for (int64_t dim = 0; dim < rank; dim++) dims.push_back(dim);
    if (rank > 0)
      std::swap(dims[wrap_dim(std::get<int64_t>(read(1)), rank, "transpose")],
                dims[wrap_dim(std::get<int64_t>(read(2)), rank, "transpose")]);
    return dims;
  }
  static bool is_sorted(const SmallVector<int64_t, 6>& order) {
    for (size_t i = 0; i < order.size(); i++)
      if (order[i] != static_cast<int64_t>(i)) return false;
    return true;
  }

  Value permute(Node& node) {
    auto dims = order(node);
    if (is_sorted(dims)) return node.inputs[0];
    const Node* before = maker(node.inputs[0]);
    auto rule = before ? rules().find(before->def) : rules().end();
    if (rule == rules().end() || rule->second != &Identities::permute) return {};
    auto first = order(*before);
    for (int64_t& dim : dims) dim = first[dim];
    return is_sorted(dims) ? before->inputs[0] : Value();
  }

  ir::Graph& graph_;
  Replacements replacements_;
  std::unordered_map<const ir::ValueImpl*, Chain> chains_;  // of reshapes, by their ends
};

}  // namespace

void remove_identities(ir::Graph& graph) { Identities(graph).run(); }

}  // namespace tw::passes

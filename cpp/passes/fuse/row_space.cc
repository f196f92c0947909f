#include "passes/fuse/row_space.h"

#include <algorithm>

#include "passes/pointwise.h"

namespace tw::passes {

namespace {

using ir::Node;

ir::AttrValue attribute(const Node& node, const char* name) {
  for (const ir::Param& param : node.def->schema.params)
    if (param.name == name) return ir::read_attr(param.field, node.attrs.get());
  return {};
}

bool over_last_dim(const Node& node) {
  ir::AttrValue shape = attribute(node, "normalized_shape");
  if (const auto* dims = std::get_if<IntList>(&shape)) return dims->size() == 1;
  ir::AttrValue dim = attribute(node, "dim");
  const auto* number = std::get_if<int64_t>(&dim);
  int64_t rank = node.inputs[0]->rank();
  return number && rank > 0 && wrap_dim(*number, rank, node.def->name()) == rank - 1;
}

// Of floats, over all dims but the last.
bool sums_rows(const Node& node) {
  const ir::ValueImpl& input = *node.inputs[0];
  if (input.dtype != DType::kFloat32 && input.dtype != DType::kFloat64) return false;
  ir::AttrValue dim = attribute(node, "dim");
  const auto* dims = std::get_if<IntList>(&dim);
  if (!dims || node.outputs[0]->dtype != input.dtype) return false;
  auto wrapped = wrap_dims(*dims, input.rank(), "sum");
  bool last = std::find(wrapped.begin(), wrapped.end(), input.rank() - 1) != wrapped.end();
  return !last && static_cast<int64_t>(wrapped.size()) == input.rank() - 1 && input.rank() <= 3;
}

}  // namespace

RowSpace::RowSpace(const Dims& shape) : sizes(shape) {
  if (sizes.size() < 2) return;
  folded = sizes.size() <= 3;
  rows = sizes[0];
  if (sizes.size() == 3) rows *= sizes[1];
}

bool RowSpace::shape_of(const Dims& operand, Dims* body) const {
  size_t rank = sizes.size();
  if (numel(operand) == 1) {
    *body = operand.size() <= 1 ? operand : Dims();
    return true;
  }
  if (!folded) {
    *body = operand;
    return operand.size() < rank || (operand.size() == rank && (operand[0] == 1 || operand[0] == sizes[0]));
  }
  int64_t columns = sizes.back();
  if (operand.size() >= 2 && operand.size() <= 3 && RowSpace(operand).rows == rows &&
      (operand.back() == columns || operand.back() == 1)) {
    *body = {rows, operand.back()};
    return true;
  }
  *body = {columns};
  return operand.size() <= rank && numel(operand) == columns && operand.back() == columns;
}

const ir::Value& row_source(const ir::Value& value) {
  const ir::Value* at = &value;
  while (const Node* node = *at ? ir::graph_value(*at).node : nullptr) {
    const std::string& name = node->def->schema.name;
    if (name != "reshape" && name != "view" && name != "squeeze" && name != "unsqueeze") break;
    RowSpace from(node->inputs[0]->sizes), to((*at)->sizes);
    if (!from.folded || !to.folded || !(from == to)) break;
    at = &node->inputs[0];
  }
  return *at;
}

RowRole row_role(const Node& node) {
  const ir::OpDef& def = *node.def;
  bool plain = node.lifted.empty() && def.random_key_offset < 0 && def.mutated_params == 0 && !def.view &&
               !node.inputs.empty() && node.starts.empty();
  if (!plain) return RowRole::kNone;
  if (is_pointwise(def) && node.outputs.size() == 1) return RowRole::kPointwise;
  const std::string& name = def.schema.name;
  for (const char* one : {"layer_norm", "rms_norm", "layer_norm_backward", "softmax", "softmax_backward",
                          "log_softmax", "log_softmax_backward"})
    if (name == one) return over_last_dim(node) ? RowRole::kWithinRows : RowRole::kNone;
  return name == "sum" && sums_rows(node) ? RowRole::kSum : RowRole::kNone;
}

const Dims& worked_on(const Node& node, RowRole role) {
  bool reads = role == RowRole::kSum || node.def->schema.name == "layer_norm_backward";
  return reads ? node.inputs[0]->sizes : node.outputs[0]->sizes;
}

}  // namespace tw::passes

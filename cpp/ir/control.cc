#include "ir/control.h"

#include <string_view>

#include "ir/layouts.h"

namespace tw::ir {

namespace {

constexpr const char* kCondRegions[] = {"then", "else"};
constexpr const char* kLoopRegions[] = {"body"};

bool same(const ValueImpl& value, const Meta& meta) {
  return value.dtype == meta.dtype && value.sizes == meta.sizes;
}

Meta meta_of(const Value& value) { return {value->dtype, value->sizes}; }

void check_region(const Node& node, size_t number, std::span<const Meta> inputs) {
  const char* name = region_names(*node.def)[number];
  TW_CHECK(node.regions[number], kValue, node.def->name(), ": region \"", name, "\" is missing");
  const Graph& region = *node.regions[number];
  TW_CHECK(region.inputs.size() == inputs.size(), kValue, node.def->name(), ": region \"", name, "\" has ",
           region.inputs.size(), " inputs for ", inputs.size(), " operands");
  for (size_t i = 0; i < inputs.size(); i++)
    TW_CHECK(region.inputs[i].value && same(*region.inputs[i].value, inputs[i]), kValue, node.def->name(),
             ": input ", i, " of region \"", name, "\" must be a ", inputs[i].dtype, " tensor of shape ",
             inputs[i].sizes);
  for (const Value& output : region.outputs)
    TW_CHECK(output, kValue, node.def->name(), ": an output of region \"", name, "\" is missing");
}

void check_scalar(const Node& node, const Value& value, DType dtype, const char* what) {
  TW_CHECK(value->dtype == dtype && value->rank() == 0, kValue, node.def->name(), ": ", what, " must be a ",
           dtype, " tensor of shape [], got ", value->dtype, " of shape ", value->sizes);
}

SmallVector<Meta, 2> infer_cond(const Node& node) {
  check_scalar(node, node.inputs[0], DType::kBool, "pred");
  std::vector<Meta> operands;
  for (size_t i = 1; i < node.inputs.size(); i++) operands.push_back(meta_of(node.inputs[i]));
  for (size_t i = 0; i < 2; i++) check_region(node, i, operands);
  const Values a(node.regions[0]->outputs.begin(), node.regions[0]->outputs.end());
  const auto& b = node.regions[1]->outputs;
  TW_CHECK(a.size() == b.size(), kValue, "cond: its regions have ", a.size(), " and ", b.size(), " outputs");
  SmallVector<Meta, 2> outputs;
  for (size_t i = 0; i < a.size(); i++) {
    outputs.push_back(meta_of(a[i]));
    TW_CHECK(same(*b[i], outputs.back()), kValue, "cond: output ", i, " is ", a[i]->dtype, " of shape ",
             a[i]->sizes, " in one region and ", b[i]->dtype, " of shape ", b[i]->sizes, " in the other");
  }
  return outputs;
}

SmallVector<Meta, 2> infer_loop(const Node& node) {
  LoopShape shape = loop_shape(node);
  if (shape.pred) check_scalar(node, node.inputs[0], DType::kBool, "pred");
  if (shape.trips) check_scalar(node, node.inputs[1], DType::kInt64, "trips");
  TW_CHECK(shape.length >= -1, kValue, "loop: length is ", shape.length);
  TW_CHECK(shape.pred || shape.length >= 0, kValue, "loop: it needs a predicate or a length");
  TW_CHECK(!shape.parts || (!shape.pred && !shape.trips && !shape.reverse), kValue,
           "loop: over the parts of a batch it runs its length, from the first to the last");
  std::vector<Meta> operands;
  for (int i = shape.first_carried(); i < static_cast<int>(node.inputs.size()); i++) {
    operands.push_back(meta_of(node.inputs[i]));
    if (i < shape.first_slice() || i >= shape.first_capture()) continue;
    Meta& slice = operands.back();
    TW_CHECK(!slice.sizes.empty() && slice.sizes[0] == shape.length, kValue,
             "loop: what is taken in parts must have ", shape.length, " of them, got shape ", slice.sizes);
    slice.sizes = Dims(slice.sizes.begin() + 1, slice.sizes.end());
  }
  check_region(node, 0, operands);
  const auto& outputs = node.regions[0]->outputs;
  if (shape.pred) check_scalar(node, outputs[0], DType::kBool, "whether it goes on");
  SmallVector<Meta, 2> result;
  for (int i = 0; i < shape.carried + shape.stacked; i++) {
    Meta meta = meta_of(outputs[i + shape.pred]);
    if (i < shape.carried) {
      TW_CHECK(same(*node.inputs[shape.first_carried() + i], meta), kValue, "loop: carried value ", i,
               " must be a ", node.inputs[2 + i]->dtype, " tensor of shape ", node.inputs[2 + i]->sizes,
               ", the body gives ", meta.dtype, " of shape ", meta.sizes);
    } else {
      TW_CHECK(shape.length >= 0, kValue, "loop: without a length nothing can be stacked");
      meta.sizes.insert(meta.sizes.begin(), shape.length);
    }
    result.push_back(std::move(meta));
  }
  return result;
}

}  // namespace

ControlKind control_kind(const OpDef& def) {
  static const OpDef* const cond = registry().find("cond");
  static const OpDef* const loop = registry().find("loop");
  return &def == cond ? ControlKind::kCond : &def == loop ? ControlKind::kLoop : ControlKind::kNone;
}

std::span<const char* const> region_names(const OpDef& def) {
  switch (control_kind(def)) {
    case ControlKind::kCond:
      return kCondRegions;
    case ControlKind::kLoop:
      return kLoopRegions;
    default:
      return {};
  }
}

LoopShape loop_shape(const Node& node) {
  const auto& params = node.def->schema.params;
  LoopShape shape{};
  shape.pred = static_cast<bool>(node.inputs[0]);
  shape.trips = static_cast<bool>(node.inputs[1]);
  shape.carried = node.starts[3] - node.starts[2];
  shape.slices = node.starts[4] - node.starts[3];
  shape.captures = node.starts[5] - node.starts[4];
  shape.length = std::get<int64_t>(read_attr(params[5].field, node.attrs.get()));
  shape.reverse = std::get<bool>(read_attr(params[6].field, node.attrs.get()));
  shape.parts = std::get<bool>(read_attr(params[7].field, node.attrs.get()));
  int given =
      node.regions.empty() || !node.regions[0] ? 0 : static_cast<int>(node.regions[0]->outputs.size());
  shape.stacked = given - shape.carried - shape.pred;
  TW_CHECK(shape.stacked >= 0, kValue, "loop: its body has ", given, " outputs for ", shape.carried,
           " carried values");
  return shape;
}

SmallVector<int, 4> loop_starts(int carried, int slices, int captures) {
  SmallVector<int, 4> starts;
  for (int start : {0, 1, 2, 2 + carried, 2 + carried + slices, 2 + carried + slices + captures})
    starts.push_back(start);
  return starts;
}

SmallVector<Meta, 2> infer_control(const Node& node) {
  size_t wanted = region_names(*node.def).size();
  TW_CHECK(node.regions.size() == wanted, kValue, node.def->name(), ": ", wanted, " regions are wanted, got ",
           node.regions.size());
  return control_kind(*node.def) == ControlKind::kCond ? infer_cond(node) : infer_loop(node);
}

bool decides(const Node& node, size_t input) {
  const ControlKind kind = control_kind(*node.def);
  return input < (kind == ControlKind::kLoop ? 2U : kind == ControlKind::kCond ? 1U : 0U);
}

bool draws_numbers(const Graph& region) { return region.draws > 0; }

bool has_open_draws(const Node& node) {
  if (node.region_draw < 0) return false;
  if (control_kind(*node.def) != ControlKind::kLoop || !loop_shape(node).parts) return true;
  for (const auto& inside : node.regions[0]->nodes)
    if (has_open_draws(*inside)) return true;
  return false;
}

int64_t draws_of(const Node& node) {
  if (draw_of(node) < 0) return 0;
  return is_control(*node.def) && !has_open_draws(node) ? node.regions[0]->draws : 1;
}

bool has_effects(const Node& node) {
  bool raises = node.outputs.empty() && node.def->mutated_params == 0 && !is_control(*node.def);
  if (has_open_draws(node) || raises || is_boxing_part(*node.def)) return true;
  for (const auto& region : node.regions)
    for (const auto& inside : region->nodes)
      if (has_effects(*inside)) return true;
  return false;
}

void for_each_graph(Graph& graph, const std::function<void(Graph&)>& body) {
  body(graph);
  for (auto& node : graph.nodes)
    for (auto& region : node->regions) for_each_graph(*region, body);
}

}  // namespace tw::ir

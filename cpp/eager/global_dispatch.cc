#include "eager/global_dispatch.h"

#include "eager/dispatch.h"
#include "eager/modes.h"
#include "eager/op_node.h"
#include "eager/promotion.h"
#include "eager/view_history.h"
#include "ir/emitter.h"

namespace tw::eager {

namespace {

using Shards = std::vector<Tensor>;

// What runs on the parts has passed autocast and tape as a whole.
class PartMode {
 public:
  PartMode() : before_(modes()) {
    modes().grad_enabled = false;
    modes().autocast = false;
    modes().creation = nullptr;
  }
  ~PartMode() { modes() = before_; }
  PartMode(const PartMode&) = delete;
  PartMode& operator=(const PartMode&) = delete;

 private:
  Modes before_;
};

// "other" of input 1; "tensors[2]" within a list.
std::string input_name(const ir::OpDef& def, size_t input, std::span<const int> starts) {
  for (const ir::Param& param : def.schema.params) {
    if (param.tensor_index < 0) continue;
    size_t first = starts.empty() ? param.tensor_index : starts[param.tensor_index];
    size_t last = starts.empty() ? first + 1 : starts[param.tensor_index + 1];
    if (input < first || input >= last) continue;
    return param.kind == ir::ParamKind::kTensorList ? cat(param.name, "[", input - first, "]") : param.name;
  }
  return cat("input ", input);
}

// The parts of every input in the layouts of a plan; empty for numbers and absent ones.
std::vector<Shards> boxed(const GlobalPlan& plan, std::span<const ir::Value> inputs) {
  std::vector<Shards> parts(inputs.size());
  for (size_t i = 0; i < inputs.size(); i++) {
    if (!plan.inputs[i]) continue;
    const TensorImpl& tensor = tensor_of(inputs[i]);
    parts[i] = layout_of(tensor) == plan.inputs[i] ? tensor.global->shards
                                                   : box(tensor, plan.inputs[i])->global->shards;
  }
  return parts;
}

InputList part_inputs(std::span<const ir::Value> inputs, const std::vector<Shards>& parts, size_t k) {
  InputList result;
  for (size_t i = 0; i < inputs.size(); i++)
    result.push_back(parts[i].empty() ? inputs[i] : ir::Value(parts[i][k]));
  return result;
}

// Calls body(part number, attributes) on the device of every addressable part.
template <class Body>
void for_each_part(const ir::OpDef& def, const GlobalPlan& plan, const sbp::Placement& placement,
                   std::span<const ir::Value> inputs, void* attrs, const Body& body) {
  const Addressable& here = addressable(placement);
  PartMode mode;
  for (size_t k = 0; k < here.positions.size(); k++) {
    modes().device = here.devices[k];
    if (!plan.attrs.empty()) {
      body(k, plan.attrs[k]->get());
    } else if (def.localize) {  // of a random op, whose key is new in every call
      ir::AttrBox local(def.attr_type, attrs);
      localize(def, plan, inputs, here.positions[k], local.get());
      body(k, local.get());
    } else {
      body(k, attrs);
    }
  }
}

bool share_memory(const Shards& results, const Shards& inputs) {
  for (size_t k = 0; k < results.size(); k++)
    if (results[k]->storage != inputs[k]->storage) return false;
  return true;
}

// The output of a view op looks into its input where all parts do.
void wrap_view(const ir::OpDef& def, Tensor& result, const Tensor& input, const Shards& looked_into,
               const void* attrs) {
  ir::Geometry geometry;
  geometry.sizes = result->sizes;
  if (!def.view(input->geometry(), attrs, &geometry)) return;
  bool shared = looked_into == input->global->shards && share_memory(result->global->shards, looked_into);
  if (!shared) {
    result->global->copied = true;
    return;
  }
  result->global->copied = input->global->copied;
  result->storage = input->storage;
  result->set_geometry(std::move(geometry));
  set_view(*result, input);
}

// Where sizes depend on data every part is the whole, and the first tells them.
Dims data_sizes(const ir::OpDef& def, const Shards& shards) {
  TW_CHECK(!shards.empty(), kPlacement, def.name(),
           ": the sizes of its result depend on data that this process does not hold");
  return shards[0]->sizes;
}

// Tuples of tensors that are updated element by element: each is brought to where its first written one lies.
// What all of them reduce into stays pending.
GlobalPlan plan_of_tuples(const ir::OpDef& def, const sbp::PlacementRef& placement,
                          std::span<const ir::Value> inputs, std::span<const int> starts, const void* attrs) {
  GlobalPlan plan;
  plan.inputs.resize(inputs.size());
  sbp::LayoutRef whole = broadcast_on(placement);
  const std::vector<sbp::Signature> signatures = signatures_of(def, inputs, {}, attrs);
  for (const ir::Param& param : def.schema.params) {
    int j = param.tensor_index;
    if (j < 0) continue;
    int first = starts.empty() ? j : starts[j], last = starts.empty() ? j + 1 : starts[j + 1];
    for (int i = first; i < last; i++) {
      if (!inputs[i] || !tensor_of(inputs[i]).global) continue;
      plan.inputs[i] = whole;
      if (signatures.empty()) continue;
      if (param.kind == ir::ParamKind::kTensorList)
        plan.inputs[i] = without_partial(layout_of(tensor_of(inputs[starts[0] + i - first])));
      else if (const sbp::Sbp& one = signatures[0].inputs[i]; one.kind == sbp::Kind::kPartial)
        plan.inputs[i] = sbp::layout(placement, sbp::NdSbp(placement->shape.size(), one));
    }
  }
  return plan;
}

void mutate_global(const ir::OpDef& def, const sbp::PlacementRef& placement,
                   std::span<const ir::Value> inputs, std::span<const int> starts, void* attrs) {
  check_mutated(def, inputs, starts);
  ir::InferContext inferred;
  infer(def, inputs, starts, attrs, inferred);
  GlobalPlan plan = plan_of_tuples(def, placement, inputs, starts, attrs);
  std::vector<Shards> parts = boxed(plan, inputs);
  for_each_part(def, plan, *placement, inputs, attrs, [&](size_t k, void* local) {
    InputList part = part_inputs(inputs, parts, k);
    ir::Values none;
    dispatch(def, {part.data(), part.size()}, starts, local, &none);
  });
  // What was written in another layout goes back to where the tensor lies.
  PartMode mode;
  for (size_t i = 0; i < inputs.size(); i++) {
    if (parts[i].empty() || !is_mutated(def, static_cast<int>(i), starts)) continue;
    TensorImpl& tensor = tensor_of(inputs[i]);
    if (same_parts(*layout_of(tensor), *plan.inputs[i], tensor.sizes)) continue;
    Tensor written = wrap_shards(tensor.sizes, tensor.dtype, plan.inputs[i], parts[i]);
    Tensor back = box(*written, layout_of(tensor));
    for (size_t k = 0; k < tensor.global->shards.size(); k++) {
      const ir::Value pair[] = {ir::Value(tensor.global->shards[k]), ir::Value(back->global->shards[k])};
      dispatch_inplace(ir::registry().get("copy"), pair, {}, nullptr);
    }
  }
  advance_versions(def, inputs, starts);
}

}  // namespace

bool is_global_call(std::span<const ir::Value> inputs) {
  bool any = false;
  for (const ir::Value& input : inputs) {
    if (!input) continue;
    if (tensor_of(input).global) return true;
    any = true;
  }
  return !any && modes().creation;
}

sbp::PlacementRef placement_of(const ir::OpDef& def, std::span<const ir::Value> inputs,
                               std::span<const int> starts) {
  size_t first = 0;
  while (first < inputs.size() && !(inputs[first] && tensor_of(inputs[first]).global)) first++;
  if (first == inputs.size()) return modes().creation->placement;
  const TensorImpl& one = tensor_of(inputs[first]);
  const sbp::PlacementRef& placement = layout_of(one)->placement;
  for (size_t i = 0; i < inputs.size(); i++) {
    if (!inputs[i] || inputs[i]->wrapped_number) continue;
    const TensorImpl& other = tensor_of(inputs[i]);
    TW_CHECK(other.global && layout_of(other)->placement == placement, kPlacement, def.name(),
             ": tensors on one placement are wanted, got ", input_name(def, first, starts), " ",
             where_is(one), " and ", input_name(def, i, starts), " ", where_is(other),
             "; to_global() brings them together");
  }
  return placement;
}

bool expands(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts) {
  if (!def.expand || !def.sbp_rule) return static_cast<bool>(def.expand);
  if (!modes().tracer) return !has_kernel(def);
  return !kernel_of(def, device_type_of(*placement_of(def, inputs, starts)));
}

void dispatch_global(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts,
                     void* attrs, ir::Values* outputs) {
  const sbp::PlacementRef placement = placement_of(def, inputs, starts);
  if (expands(def, inputs, starts)) {
    CreationGuard creation(broadcast_on(placement).get());
    *outputs = def.expand(ir::Values(inputs.begin(), inputs.end()), attrs);
    return;
  }
  if (def.mutated_params) return mutate_global(def, placement, inputs, starts, attrs);
  auto plan = plan_of(def, placement, inputs, starts, attrs, inputs.empty() ? modes().creation : nullptr);
  Recorder recorder(def, inputs, starts);
  std::vector<Shards> parts = boxed(*plan, inputs), results(plan->metas.size());
  for_each_part(def, *plan, *placement, inputs, attrs, [&](size_t k, void* local) {
    InputList part = part_inputs(inputs, parts, k);
    ir::Values made;
    dispatch(def, {part.data(), part.size()}, starts, local, &made);
    for (size_t i = 0; i < made.size(); i++) results[i].push_back(as_tensor(made[i]));
  });
  for (size_t i = 0; i < results.size(); i++) {
    const ir::Meta& meta = plan->metas[i];
    Dims sizes = def.dynamic_sizes ? data_sizes(def, results[i]) : meta.sizes;
    Tensor result = wrap_shards(sizes, meta.dtype, plan->outputs[i], std::move(results[i]));
    if (def.view) wrap_view(def, result, as_tensor(inputs[0]), parts[0], attrs);
    outputs->push_back(std::move(result));
  }
  if (!recorder.active()) return;
  recorder.before(attrs);
  recorder.after(*outputs);
}

void check_global_target(const ir::OpDef& def, std::span<const ir::Value> inputs,
                         std::span<const int> starts) {
  placement_of(def, inputs, starts);
  const TensorImpl& self = tensor_of(inputs[0]);
  TW_CHECK(!self.global->copied, kRuntime, def.name(),
           ": writing to a copy would not reach the tensor that it was taken from: this view of a global "
           "tensor of ",
           "layout ", *layout_of(self),
           " had to be copied, because it does not keep to the parts; clone() it, or ",
           "write to a view that keeps to them");
}

std::shared_ptr<const GlobalPlan> inplace_plan(const ir::OpDef& def, std::span<const ir::Value> inputs,
                                               std::span<const int> starts, const void* attrs) {
  return expands(def, inputs, starts) ? nullptr : plan_inplace(def, inputs, starts, attrs);
}

void launch_inplace(const ir::OpDef& def, const GlobalPlan& plan, std::span<const ir::Value> inputs,
                    std::span<const int> starts, void* attrs) {
  std::vector<Shards> parts = boxed(plan, inputs);
  parts[0] = tensor_of(inputs[0]).global->shards;
  for_each_part(def, plan, *plan.inputs[0]->placement, inputs, attrs, [&](size_t k, void* local) {
    InputList part = part_inputs(inputs, parts, k);
    dispatch_inplace(def, {part.data(), part.size()}, starts, local);
  });
}

}  // namespace tw::eager

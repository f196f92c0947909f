#include "eager/global_trace.h"

#include "eager/dispatch.h"
#include "eager/global_dispatch.h"
#include "eager/modes.h"
#include "eager/promotion.h"
#include "ops/boxing/local_parts.h"

namespace tw::eager {

namespace {

// One tuple of a call: its inputs, where its lists begin, and its attributes.
struct Tuple {
  InputList inputs;
  SmallVector<int, 8> starts;
  ir::AttrBox attrs;
  std::vector<ir::Lifted> lifted;
};

// Lists of numbers have one for each tuple, as those of step counts.
void take_numbers(const ir::OpDef& def, int64_t number, int64_t count, const std::vector<ir::Lifted>& lifted,
                  Tuple* tuple) {
  const auto& params = def.schema.params;
  for (const ir::Lifted& one : lifted)
    if (one.item < 0 || one.item == number)
      tuple->lifted.push_back({one.param, one.item < 0 ? -1 : 0, one.number});
  for (const ir::Param& param : params) {
    if (param.kind != ir::ParamKind::kAttr || param.field.kind != ir::AttrKind::kIntList) continue;
    auto all = std::get<IntList>(ir::read_attr(param.field, tuple->attrs.get()));
    if (all.empty()) continue;
    TW_CHECK(static_cast<int64_t>(all.size()) == count, kInternal, def.name(), ": ", param.name, " has ",
             all.size(), " numbers for ", count, " tuples");
    ir::write_attr(param.field, tuple->attrs.get(), IntList{all[number]}, def.name(), param.name.c_str());
  }
}

void take_inputs(const ir::OpDef& def, int64_t number, std::span<const ir::Value> inputs,
                 std::span<const int> starts, Tuple* tuple) {
  for (const ir::Param& param : def.schema.params) {
    const int j = param.tensor_index;
    if (j < 0) continue;
    tuple->starts.push_back(static_cast<int>(tuple->inputs.size()));
    const bool list = param.kind == ir::ParamKind::kTensorList;
    if (list && starts[j] == starts[j + 1]) continue;
    tuple->inputs.push_back(inputs[starts[j] + (list ? number : 0)]);
  }
  tuple->starts.push_back(static_cast<int>(tuple->inputs.size()));
}

}  // namespace

sbp::LayoutRef layout_in_trace(const ir::OpDef& def, std::span<const ir::Value> inputs,
                               std::span<const int> starts) {
  const sbp::PlacementRef placement = placement_of(def, inputs, starts);
  if (inputs.empty() && !modes().creation->is_broadcast()) return sbp::LayoutRef(modes().creation);
  return broadcast_on(placement);
}

void lay_out_in_trace(Tracer& tracer, std::span<const ir::Value> inputs, const sbp::LayoutRef& layout,
                      std::span<Tensor> results) {
  const bool decided = inputs.empty() && !layout->is_broadcast();
  for (Tensor& result : results) tracer.make_global(*result, layout, decided);
}

void trace_mutation(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts,
                    const void* attrs) {
  check_mutated(def, inputs, starts);
  ir::InferContext inferred;
  infer(def, inputs, starts, attrs, inferred);
  Tracer& tracer = *modes().tracer;
  if (starts.empty() || signatures_of(def, inputs, {}, attrs).empty()) {
    tracer.launch(def, inputs, starts, attrs, {});
  } else {
    const std::vector<ir::Lifted> lifted = tracer.take_lifted(def);
    const int64_t count = starts[1] - starts[0];
    for (int64_t i = 0; i < count; i++) {
      Tuple tuple{{}, {}, ir::AttrBox(def.attr_type, attrs), {}};
      take_inputs(def, i, inputs, starts, &tuple);
      take_numbers(def, i, count, lifted, &tuple);
      tracer.lift_next(def, std::move(tuple.lifted));
      tracer.launch(def, {tuple.inputs.data(), tuple.inputs.size()},
                    {tuple.starts.data(), tuple.starts.size()}, tuple.attrs.get(), {});
    }
  }
  advance_versions(def, inputs, starts);
}

Tensor box_in_trace(Tracer& tracer, const Tensor& tensor, const sbp::LayoutRef& to) {
  check_layout(*to, tensor->sizes, "to_global");
  if (!globals_exist()) g_globals_exist = true;
  static const ir::OpDef& boxing = ir::registry().get("boxing");
  Tensor result = empty(tensor->sizes, tensor->dtype);
  const ir::Value input(tensor);
  tracer.launch(boxing, {&input, 1}, {}, boxing.defaults(), {&result, 1});
  tracer.make_global(*result, to, true);
  return result;
}

std::vector<Tensor> take_parts_in_trace(Tracer& tracer, const Tensor& tensor) {
  TW_CHECK(tensor->global->decided, kRuntime,
           "to_local: in a traced function the sbp of a computed tensor is chosen when the program is made; "
           "to_global(sbp=...) says how it is to lie, and gives a tensor that has parts");
  static const ir::OpDef& take_part = ir::registry().get("take_part");
  tracer.parts_taken = true;
  // What was written to since may lie otherwise.
  const sbp::LayoutRef layout = layout_of(*tensor);
  const ir::Value laid(box_in_trace(tracer, tensor, layout));
  const Addressable& here = addressable(*layout->placement);
  std::vector<Tensor> parts;
  for (size_t k = 0; k < here.positions.size(); k++) {
    DeviceGuard device(here.devices[k]);
    const ops::TakePartAttrs attrs{sbp::name_of(*layout), layout->placement->ranks[here.positions[k]]};
    Tensor part = empty(sbp::box_of(*layout, tensor->sizes, here.positions[k]).sizes, tensor->dtype);
    tracer.launch(take_part, {&laid, 1}, {}, &attrs, {&part, 1});
    part->storage->read_only = true;  // what is written to it would not reach the tensor
    parts.push_back(std::move(part));
  }
  return parts;
}

Tensor join_parts_in_trace(Tracer& tracer, const std::vector<Tensor>& parts, const Dims& sizes,
                           const sbp::LayoutRef& to) {
  check_layout(*to, sizes, "to_global");
  if (!globals_exist()) g_globals_exist = true;
  static const ir::OpDef& join_parts = ir::registry().get("join_parts");
  ops::JoinPartsAttrs attrs{sbp::name_of(*to), {}, {}, parts[0]->dtype};
  for (int64_t position : addressable(*to->placement).positions)
    attrs.ranks.push_back(to->placement->ranks[position]);
  attrs.size.append(sizes.begin(), sizes.end());
  const InputList inputs(parts.begin(), parts.end());
  const int starts[] = {0, static_cast<int>(inputs.size())};
  Tensor result = empty(sizes, parts[0]->dtype);
  tracer.launch(join_parts, {inputs.data(), inputs.size()}, starts, &attrs, {&result, 1});
  tracer.make_global(*result, to, true);
  return result;
}

// What is made of parts is another value in each process: it stays one, and is not computed on every device.
Tensor spread_in_trace(Tracer& tracer, const Tensor& whole, const sbp::LayoutRef& to) {
  if (!tracer.parts_taken) return box_in_trace(tracer, whole, to);
  const sbp::LayoutRef everywhere = broadcast_on(to->placement);
  std::vector<Tensor> parts(addressable(*to->placement).positions.size(), whole);
  TW_CHECK(!parts.empty(), kPlacement, "to_global: this process has no rank of ", *to->placement);
  Tensor result = join_parts_in_trace(tracer, parts, whole->sizes, everywhere);
  return to == everywhere ? result : box_in_trace(tracer, result, to);
}

sbp::LayoutRef gradient_in_trace(const TensorImpl& tensor, const sbp::LayoutRef& to) {
  const sbp::LayoutRef& from = layout_of(tensor);
  if (tensor.global->decided) return without_partial(from);
  if (from->placement == to->placement) return nullptr;
  // Its way back has to be said. Cuts that are stated by sizes may not fit another placement.
  if (from->placement->shape != to->placement->shape) return from;
  for (const sbp::Sbp& one : to->sbp)
    if (!one.sizes.empty()) return from;
  return without_partial(sbp::layout(from->placement, to->sbp));
}

}  // namespace tw::eager

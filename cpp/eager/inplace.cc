#include "eager/dispatch.h"
#include "eager/global_dispatch.h"
#include "eager/modes.h"
#include "eager/op_node.h"
#include "eager/placing.h"
#include "eager/promotion.h"
#include "eager/view_history.h"
#include "ir/emitter.h"

namespace tw::eager {

namespace {

// self = copy(self, result): for results that the kernel could not write straight into self.
void copy_result(const ir::Value& self, const ir::Value& result, const char* op) {
  const DType to = self->dtype;
  TW_CHECK(can_cast(result->dtype, to), kRuntime, op, ": the result has dtype ", result->dtype,
           ", which cannot be written into a tensor of dtype ", to);
  const ir::Value inputs[] = {self, result};
  dispatch_inplace(ir::registry().get("copy"), inputs, {}, nullptr);
}

void check_result_shape(const ir::Value& self, const ir::Meta& result, const char* op) {
  TW_CHECK(result.sizes == self->sizes, kRuntime, op, ": the result has shape ", result.sizes,
           ", which does not fit the written tensor of shape ", self->sizes);
}

bool same_window(const TensorImpl& a, const TensorImpl& b) {
  return a.offset == b.offset && a.sizes == b.sizes && a.strides == b.strides && a.dtype == b.dtype;
}

// Inputs that share memory with self other than element for element would change under the kernel's feet.
void detach_overlapping(InputList& inputs) {
  const TensorImpl& self = tensor_of(inputs[0]);
  for (size_t i = 1; i < inputs.size(); i++) {
    if (!inputs[i]) continue;
    const TensorImpl& other = tensor_of(inputs[i]);
    if (other.storage == self.storage && !same_window(self, other)) inputs[i] = ir::op<"clone">(inputs[i]);
  }
}

void dispatch_inplace_here(const ir::OpDef& def, std::span<const ir::Value> given,
                           std::span<const int> starts, void* attrs) {
  const ir::Value self_value = given[0];
  TensorImpl& self = tensor_of(self_value);
  bool global = false;
  if (globals_exist()) [[unlikely]]
    if ((global = is_global_call(given))) check_global_target(def, given, starts);
  check_writable(self, def.name());
  check_inplace_allowed(self, def.name());

  InputList inputs;
  if (def.promotion == ir::Promotion::kNone || !promote_inputs(def, given, starts, &inputs))
    inputs.append(given.begin(), given.end());
  bool direct = has_kernel(def) && inputs[0] == self_value && !def.dynamic_sizes;
  ir::InferContext context;
  if (direct) {
    fill_random_key(def, attrs);
    place_in_batch(def, {inputs.data(), inputs.size()}, starts, attrs);
    infer(def, {inputs.data(), inputs.size()}, starts, attrs, context);
    direct = context.outputs.size() == 1 && context.outputs[0].dtype == self.dtype;
  }
  std::shared_ptr<const GlobalPlan> plan;
  if (global && direct && modes().tracer) {
    direct = !expands(def, {inputs.data(), inputs.size()}, starts);
  } else if (global && direct) {
    plan = inplace_plan(def, {inputs.data(), inputs.size()}, starts, attrs);
    direct = plan != nullptr;
  }
  if (!direct) {
    // What the gradient saves of self must outlive the copy below.
    bool recorded = false;
    for (const ir::Value& input : given) recorded |= input && tensor_of(input).needs_grad();
    InputList kept(given.begin(), given.end());
    if (recorded && modes().grad_enabled) kept[0] = ir::op<"clone">(self_value);
    ir::Values results;
    dispatch(def, {kept.data(), kept.size()}, starts, attrs, &results);
    check_result_shape(self_value, {results[0]->dtype, results[0]->sizes}, def.name());
    copy_result(self_value, results[0], def.name());
    return;
  }
  check_result_shape(self_value, context.outputs[0], def.name());
  detach_overlapping(inputs);
  std::span<const ir::Value> ready(inputs.data(), inputs.size());
  Recorder recorder(def, ready, starts);
  if (recorder.active()) recorder.before(attrs, 0);
  Tensor target = as_tensor(self_value);
  if (plan)
    launch_inplace(def, *plan, ready, starts, attrs);
  else
    launch(def, ready, starts, attrs, {context.outputs.data(), 1}, {&target, 1});
  self.storage->version++;
  if (recorder.active()) rebase_history(self, recorder.after({&self_value, 1}, false));
}

}  // namespace

void dispatch_inplace(const ir::OpDef& def, std::span<const ir::Value> given, std::span<const int> starts,
                      void* attrs) {
  if (!device::find_accelerator()) [[likely]]
    return dispatch_inplace_here(def, given, starts, attrs);
  InputList inputs(given.begin(), given.end());
  static const int copy = ir::registry().get("copy").id;
  device::Device self = tensor_of(given[0]).device();
  if (def.id == copy && !tensor_of(given[1]).wrapped_number) inputs[1] = to_device(as_tensor(given[1]), self);
  DeviceGuard guard(device_of_call(def, {inputs.data(), inputs.size()}));
  TW_CHECK(self == modes().device, kValue, def.name(), ": a tensor on ", self,
           " cannot be written by one on ", modes().device);
  dispatch_inplace_here(def, {inputs.data(), inputs.size()}, starts, attrs);
}

void add_inplace(TensorImpl& sum, const Tensor& other) {
  const ir::OpDef& add = ir::registry().get("add");
  const ir::Value inputs[] = {ir::Value(&sum), ir::Value(other)};
  ir::AttrBox attrs(add.attr_type, add.defaults());
  dispatch_inplace(add, inputs, {}, attrs.get());
}

}  // namespace tw::eager

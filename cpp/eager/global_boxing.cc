#include "eager/global_boxing.h"

#include <optional>

#include "boxing/executor.h"
#include "boxing/links.h"
#include "eager/dispatch.h"
#include "eager/modes.h"
#include "eager/placing.h"
#include "ir/emitter.h"

namespace tw::eager {

std::vector<Tensor> move_parts(const TensorImpl& tensor, const sbp::LayoutRef& to) {
  GradModeGuard off(false);
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  boxing::Call call;
  for (const Tensor& shard : tensor.global->shards) {
    Tensor dense = shard->contiguous ? shard : as_tensor(ir::op<"row_major">(ir::Value(shard)));
    inputs.push_back(dense->count() ? dense->data() : nullptr);
    call.keep.push_back(Ref<RefCounted>(dense));
  }
  std::vector<Tensor> parts = empty_global(tensor.sizes, tensor.dtype, to)->global->shards;
  for (const Tensor& part : parts) {
    outputs.push_back(part->count() ? part->data() : nullptr);
    call.keep.push_back(Ref<RefCounted>(part));
  }
  call.inputs = inputs;
  call.outputs = outputs;
  sbp::BoxingPlanRef plan =
      plan_boxing(layout_of(tensor), to, tensor.sizes, size_of(tensor.dtype), boxing::link_model());
  boxing::ProgramRef program = boxing::program_of(plan, tensor.dtype);
  std::optional<Unlocked> unlocked;  // others may take their time
  if (!program->is_local()) unlocked.emplace();
  for (const Ref<comm::Group>& group : program->groups()) group->begin_anew();
  boxing::post(*program, call)->wait();
  return parts;
}

std::vector<Tensor> lay_out(const Tensor& whole, const sbp::LayoutRef& to) {
  GradModeGuard off(false);
  CreationGuard local(nullptr);
  const Addressable& here = addressable(*to->placement);
  device::DeviceType type = device_type_of(*to->placement);
  std::vector<Tensor> parts;
  if (type != whole->device().type && type == device::DeviceType::kCpu)
    return lay_out(to_device(whole, host_device()), to);
  if (type != whole->device().type && !to->is_broadcast()) {  // no more than its part goes to a device
    parts = lay_out(whole, on_devices(to, device::DeviceType::kCpu));
    for (size_t k = 0; k < parts.size(); k++) parts[k] = to_device(parts[k], here.devices[k]);
    return parts;
  }
  for (const device::Device& device : here.devices) parts.push_back(to_device(whole, device));
  if (!to->is_broadcast())
    return move_parts(*wrap_shards(whole->sizes, whole->dtype, broadcast_on(to->placement), std::move(parts)),
                      to);
  for (size_t k = 0; k < parts.size(); k++) {
    if (!(parts[k] == whole) && parts[k]->contiguous) continue;  // a copy as it is
    DeviceGuard device(here.devices[k]);
    parts[k] = as_tensor(ir::op<"row_major">(ir::Value(parts[k])));
  }
  return parts;
}

}  // namespace tw::eager

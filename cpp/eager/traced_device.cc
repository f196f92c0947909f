#include "eager/traced_device.h"

#include <algorithm>

#include "comm/world.h"
#include "device/accelerator.h"
#include "eager/global.h"
#include "ir/layouts.h"

namespace tw::eager {

namespace {

bool on_cpu(device::Device device) { return device.type == device::DeviceType::kCpu; }

// An op on global tensors, or one that makes a global one of local ones or takes it apart.
bool is_on_placements(const ir::OpDef& def, std::span<const ir::Value> inputs) {
  return ir::is_boxing(def) || ir::is_join_parts(def) ||
         std::ranges::any_of(inputs, [](const ir::Value& input) { return input && tensor_of(input).global; });
}

}  // namespace

bool TracedDevice::agrees(device::Device device) const {
  return *device_ == device || (on_cpu(*device_) && on_cpu(device)) || (several_ && !on_cpu(device));
}

void TracedDevice::settle(device::Device device, const char* what) {
  if (device_ && agrees(device)) return;
  TW_CHECK(!device_, kValue, what, here_(), ": it is on ", device, ", and ", settled_by_, " on ", *device_,
           several_
               ? "; a traced function of global tensors computes where they lie: bring others there with "
                 ".to() or to_global()"
               : "; a traced function computes on one device: move tensors there with .to()");
  device_ = device;
  settled_by_ = what + here_();
  graph_.device = on_cpu(device) ? "cpu" : device::name_of(device);
}

void TracedDevice::settle_unless_cpu(device::Device device, const char* what) {
  if (!on_cpu(device)) settle(device, what);
}

void TracedDevice::settle(const sbp::Placement& placement) {
  const device::DeviceType type = device_type_of(placement);
  if (on_cpu({type, 0})) return settle(device::Device{}, "a global tensor");
  const comm::World& world = comm::world();
  const device::Device first = world.device_of(world.first_rank(), type);
  // A local tensor may have been first, on any GPU, or on the CPU: a run brings it to where parts lie.
  if (device_ && !on_cpu(*device_) && !several_) device_.reset();
  several_ = true;
  settle(first, "a global tensor");
}

bool TracedDevice::fits_everywhere(std::span<const ir::Value> inputs) const {
  return std::ranges::all_of(inputs, [&](const ir::Value& input) {
    if (!input || input->rank() == 0) return true;
    const Storage& storage = *tensor_of(input).storage;
    return storage.foreign() || is_filled_by_host(storage);
  });
}

void TracedDevice::settle_op(const ir::OpDef& def, std::span<const ir::Value> inputs,
                             std::span<Tensor> outputs, device::Device device) {
  if (is_on_placements(def, inputs)) return;  // its results, which become global, say where
  if (!on_cpu(device) || !fits_everywhere(inputs)) return settle(device, def.name());
  if (!device::find_accelerator()) return;  // nobody will ask
  for (const Tensor& output : outputs)
    if (output->storage->symbolic()) host_filled_.try_emplace(output->storage.get());
}

device::Device TracedDevice::accelerator_or(device::Device current) const {
  return device_ && !on_cpu(*device_) ? *device_ : current;
}

}  // namespace tw::eager

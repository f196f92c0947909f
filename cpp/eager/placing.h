// On which device an op runs, where there are several kinds, and how tensors get from one to another.
//
// An op runs where its inputs lie. Python numbers and 0-dim tensors of the CPU go along; any other mixture is
// an error that names both devices. While an op runs, what it makes is allocated there (Modes::device): its
// expansion, its gradient and the ops in them stay on the device.
#pragma once

#include <optional>

#include "device/accelerator.h"
#include "eager/modes.h"
#include "eager/promotion.h"
#include "eager/tensor.h"
#include "ir/op_def.h"

namespace tw::eager {

// Throws kValue where inputs lie on different devices.
device::Device device_of_call(const ir::OpDef& def, std::span<const ir::Value> inputs);
// The inputs of a kernel on `where`, with copies there of what lies on the CPU; returns `inputs` where
// nothing does.
std::span<const ir::Value> brought(std::span<const ir::Value> inputs, device::Device where,
                                   InputList* copies);

// The tensor on another device, itself where it lies there. On the tape: its gradient goes the other way. The
// elements lie in the same order without gaps. Waits until the memory may be read, unless `ahead` and on a
// device.
Tensor to_device(const Tensor& tensor, device::Device device, bool ahead = false);

// Where host code makes tensors that it fills itself.
device::Device host_device();

// While it lives, the thread's current device of the backend is the one of modes(): where kernels are queued.
class CurrentDevice {
 public:
  CurrentDevice() : backend_(device::accelerator()), before_(backend_.current_device()) {
    if (before_ != modes().device.index) backend_.set_current_device(modes().device.index);
  }
  ~CurrentDevice() {
    if (before_ != modes().device.index) backend_.set_current_device(before_);
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  device::Accelerator& backend_;
  int before_;
};

// Of a gradient: what its rule makes lies where it does. Does nothing while there is one kind of device.
class GradientPlace {
 public:
  explicit GradientPlace(const std::vector<Tensor>& grads);

 private:
  std::optional<DeviceGuard> guard_;
};

}  // namespace tw::eager

#include "boxing/device_ops.h"

#include <cstring>

#include "base/error.h"
#include "boxing/device_memory.h"
#include "boxing/local_ops.h"
#include "comm/reduce.h"

namespace tw::boxing {

namespace {

using device::Device;
using device::DeviceType;
using device::Operand;

// The thread's current device while it lives: where kernels are queued.
class OnDevice {
 public:
  explicit OnDevice(int device) : before_(device::accelerator().current_device()) {
    device::accelerator().set_current_device(device);
  }
  ~OnDevice() { device::accelerator().set_current_device(before_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_;
};

// Elements of a device.
struct Place {
  int device;
  char* data;
  const Dims* strides;
  bool dense;
};

class DeviceOp {
 public:
  DeviceOp(const LocalOp& op, DType dtype, void* const* slots, const int* devices)
      : op_(op),
        dtype_(dtype),
        slots_(slots),
        devices_(devices),
        bytes_(static_cast<size_t>(op.count * size_of(dtype))),
        dense_(contiguous_strides(op.sizes)) {}

  void run() {
    if (op_.count == 0) return;
    Place to = place_of(op_.to);
    if (op_.from.empty())
      fill(to);
    else if (op_.from.size() == 1)
      copy(to, place_of(op_.from[0]));
    else
      fold(to);
  }

 private:
  Place place_of(const View& view) const {
    char* data = static_cast<char*>(slots_[view.slot]) + view.offset * size_of(dtype_);
    return {devices_[view.slot], data, &view.strides, view.dense};
  }
  DeviceMemory memory(int device) const { return {Device{DeviceType::kCuda, device}, bytes_}; }
  Place in(const DeviceMemory& memory, int device) const {
    return {device, static_cast<char*>(memory.get()), &dense_, true};
  }

  void run_kernel(const char* name, int device, std::span<const Operand> inputs, Operand output,
                  const void* attrs) const {
    device::Kernel kernel = backend_.kernels().find(name);
    TW_CHECK(kernel, kNotImplemented, "boxing: ", name, " has no kernel for device ",
             Device{DeviceType::kCuda, device});
    auto no_sizes_of_data = [](int, const Dims&) {};
    device::KernelContext context{inputs,   std::span(&output, 1),
                                  attrs,    {},
                                  "boxing", FunctionRef<void(int, const Dims&)>(no_sizes_of_data)};
    OnDevice on(device);
    kernel(context);
  }

  // On one device.
  void copy_here(const Place& to, const Place& from) const {
    if (to.dense && from.dense)
      return backend_.copy(to.data, from.data, bytes_, backend_.current_stream(to.device));
    Operand target{to.data, &op_.sizes, to.strides, dtype_};
    const Operand inputs[] = {target, {from.data, &op_.sizes, from.strides, dtype_}};
    run_kernel("copy", to.device, inputs, target, nullptr);
  }

  // What is queued on `later` from now on follows what has been queued on `earlier`.
  void order(int earlier, int later) const {
    Ref<device::Event> event = backend_.make_event(earlier);
    event->record(backend_.current_stream(earlier));
    backend_.wait(backend_.current_stream(later), *event);
  }

  void copy(const Place& to, const Place& from) const {
    if (to.device == from.device) return copy_here(to, from);
    if (!from.dense) {
      DeviceMemory packed = memory(from.device);
      copy_here(in(packed, from.device), from);
      return copy(to, in(packed, from.device));
    }
    order(from.device, to.device);
    if (to.dense) {
      backend_.copy(to.data, from.data, bytes_, backend_.current_stream(to.device));
    } else {
      DeviceMemory arrived = memory(to.device);
      backend_.copy(arrived.get(), from.data, bytes_, backend_.current_stream(to.device));
      copy_here(to, in(arrived, to.device));
    }
    order(to.device, from.device);  // the source's memory may be used again in the order of its own stream
  }

  void fill(const Place& to) const {
    auto value = neutral_element(op_.neutral, dtype_);
    DeviceMemory one(Device{DeviceType::kCuda, to.device}, value.size());
    backend_.copy(one.get(), value.data(), static_cast<size_t>(size_of(dtype_)),
                  backend_.current_stream(to.device));
    Dims still(op_.sizes.size());
    copy_here(to, {to.device, static_cast<char*>(one.get()), &still, false});
  }

  // inputs[i] folded, level by level from the innermost.
  void fold_dense(const Place& to, std::span<char* const> inputs, std::span<const sbp::Fold> folds) const {
    size_t inner = inputs.size() / static_cast<size_t>(folds[0].count);
    SmallVector<DeviceMemory, 4> folded;
    SmallVector<Operand, 8> operands;
    Dims line{op_.count}, step{1};
    for (int64_t i = 0; i < folds[0].count; i++) {
      char* data = inputs[i];
      if (folds.size() > 1) {
        folded.push_back(memory(to.device));
        data = static_cast<char*>(folded.back().get());
        fold_dense(in(folded.back(), to.device), inputs.subspan(i * inner, inner), folds.subspan(1));
      }
      operands.push_back({data, &line, &step, dtype_});
    }
    comm::FoldAttrs attrs{reduction_of(folds[0].op)};
    run_kernel("fold_parts", to.device, {operands.data(), operands.size()}, {to.data, &line, &step, dtype_},
               &attrs);
  }

  void fold(const Place& to) const {
    SmallVector<DeviceMemory, 4> brought;
    SmallVector<char*, 8> inputs;
    for (const View& view : op_.from) {
      Place from = place_of(view);
      if (from.device != to.device || !from.dense) {
        brought.push_back(memory(to.device));
        Place here = in(brought.back(), to.device);
        copy(here, from);
        from = here;
      }
      inputs.push_back(from.data);
    }
    std::span<char* const> all(inputs.data(), inputs.size());
    std::span<const sbp::Fold> folds(op_.folds.data(), op_.folds.size());
    if (to.dense) return fold_dense(to, all, folds);
    DeviceMemory result = memory(to.device);
    fold_dense(in(result, to.device), all, folds);
    copy_here(to, in(result, to.device));
  }

  const LocalOp& op_;
  DType dtype_;
  void* const* slots_;
  const int* devices_;
  size_t bytes_;
  Dims dense_;
  device::Accelerator& backend_ = device::accelerator();
};

}  // namespace

void run_on_devices(const LocalOp& op, DType dtype, void* const* slots, const int* devices) {
  DeviceOp(op, dtype, slots, devices).run();
}

}  // namespace tw::boxing

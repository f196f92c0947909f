#include "eager/placing.h"

#include <memory>

#include "base/memory_order.h"
#include "eager/node.h"
#include "eager/result_order.h"
#include "eager/tracer.h"

namespace tw::eager {

namespace {

bool on_cpu(device::Device device) { return device.type == device::DeviceType::kCpu; }

[[noreturn]] void fail_on_mixture(const ir::OpDef& def, device::Device a, device::Device b) {
  Tracer* tracer = modes().tracer;
  TW_FAIL(kValue, def.name(), ": all tensors must lie on one device, got ", a, " and ", b,
          tracer ? tracer->here() : "");
}

// Copies bytes on the target's stream, or on the source's where the target is the CPU.
void copy_bytes(Storage& to, const void* from, device::Device source, size_t size_bytes, bool ahead) {
  device::Accelerator& backend = device::accelerator();
  int index = on_cpu(to.device()) ? source.index : to.device().index;
  device::Stream& stream = backend.current_stream(index);
  if (!on_cpu(source) && source.index != index) {
    Ref<device::Event> ready = backend.make_event(source.index);
    ready->record(backend.current_stream(source.index));
    backend.wait(stream, *ready);
  }
  backend.copy(to.data(), from, size_bytes, stream);
  if (on_cpu(to.device()) || on_cpu(source)) {
    if (!ahead) stream.synchronize();
  } else if (source.index != index) {
    // The source may be freed, and its memory used again, in the order of its own device's stream.
    Ref<device::Event> copied = backend.make_event(index);
    copied->record(stream);
    backend.wait(backend.current_stream(source.index), *copied);
  }
}

class ToDeviceNode final : public Node {
 public:
  explicit ToDeviceNode(device::Device source) : source_(source) {}
  void backward(std::vector<Tensor>& grads, std::vector<Tensor>& input_grads) override {
    if (grads[0]) input_grads[0] = to_device(grads[0], source_);
  }
  std::string name() const override { return "ToDeviceBackward"; }

 private:
  device::Device source_;
};

Tensor copied_to(const Tensor& tensor, device::Device device, bool ahead) {
  GradModeGuard off(false);
  // What lies without gaps moves as it lies.
  Tensor source = is_dense(tensor->sizes, tensor->strides) ? tensor : row_major_copy(alias(*tensor));
  Tensor result = empty(source->sizes, source->dtype, device);
  if (source->strides != result->strides) result->set_geometry({source->sizes, source->strides, 0});
  size_t size_bytes = static_cast<size_t>(source->count()) * size_of(source->dtype);
  if (size_bytes) copy_bytes(*result->storage, source->data(), source->device(), size_bytes, ahead);
  return result;
}

// A Python number as a tensor of a device. Numbers come back on every step, and their tensors are shared and
// never written (wrapped_number), so that a few copies are kept.
Tensor number_on(const Tensor& number, device::Device where) {
  struct Entry {
    Tensor number, copy;
  };
  constexpr size_t kEntries = 64;
  static thread_local std::unique_ptr<Entry[]> cache(new Entry[kEntries]);
  Entry& entry = cache[reinterpret_cast<uintptr_t>(number.get()) / sizeof(TensorImpl) % kEntries];
  if (!(entry.number == number) || !(entry.copy->device() == where)) {
    entry.copy = copied_to(number, where, false);
    entry.number = number;
  }
  device::Accelerator& backend = device::accelerator();
  backend.record_use(entry.copy->storage->data(), backend.current_stream(where.index));
  return entry.copy;
}

}  // namespace

device::Device host_device() { return on_cpu(modes().device) ? modes().device : device::Device{}; }

device::Device device_of_call(const ir::OpDef& def, std::span<const ir::Value> inputs) {
  const TensorImpl *elsewhere = nullptr, *here = nullptr;
  bool any = false;
  for (const ir::Value& input : inputs) {
    if (!input) continue;
    any = true;
    const TensorImpl& tensor = tensor_of(input);
    if (tensor.global) [[unlikely]]
      return host_device();  // its parts say where
    if (!on_cpu(tensor.device())) {
      if (elsewhere && !(elsewhere->device() == tensor.device()))
        fail_on_mixture(def, elsewhere->device(), tensor.device());
      elsewhere = &tensor;
    } else if (tensor.rank() > 0 || &input == inputs.data()) {
      // The first input is what an in-place op writes; of others a 0-dim tensor is as good as a number.
      if (!tensor.wrapped_number && (tensor.rank() > 0 || def.mutated_params)) here = &tensor;
    }
  }
  if (!elsewhere) return any ? host_device() : modes().device;
  if (here) fail_on_mixture(def, here->device(), elsewhere->device());
  return elsewhere->device();
}

std::span<const ir::Value> brought(std::span<const ir::Value> inputs, device::Device where,
                                   InputList* copies) {
  bool all_there = true;
  for (const ir::Value& input : inputs) all_there &= !input || tensor_of(input).device() == where;
  if (all_there) return inputs;
  copies->append(inputs.begin(), inputs.end());
  for (ir::Value& input : *copies) {
    if (!input || tensor_of(input).device() == where) continue;
    Tensor tensor = as_tensor(input);
    input = tensor->wrapped_number ? number_on(tensor, where) : copied_to(tensor, where, false);
  }
  return {copies->data(), copies->size()};
}

Tensor to_device(const Tensor& tensor, device::Device device, bool ahead) {
  // The devices of one CPU see each other's memory.
  if (tensor->device() == device || (on_cpu(tensor->device()) && on_cpu(device))) return tensor;
  TW_CHECK(!tensor->global, kValue, "to: a global tensor lies on a placement; to_global() moves it");
  device::backend_of(device);  // throws where there is none
  Tracer* tracer = modes().tracer;
  Tensor result = tracer ? tracer->moved(*tensor, device) : copied_to(tensor, device, ahead);
  bool differentiable = is_float(tensor->dtype) || is_complex(tensor->dtype);
  if (modes().grad_enabled && tensor->needs_grad() && differentiable) {
    Ref<Node> node = make_ref<ToDeviceNode>(tensor->device());
    node->edges.push_back(gradient_edge(*tensor));
    node->outputs.push_back({result->dtype, result->sizes});
    set_history(*result, node, 0);
  }
  return result;
}

GradientPlace::GradientPlace(const std::vector<Tensor>& grads) {
  if (!device::find_accelerator()) [[likely]]
    return;
  for (const Tensor& grad : grads)
    if (grad) {
      guard_.emplace(on_cpu(grad->device()) ? host_device() : grad->device());
      return;
    }
}

}  // namespace tw::eager

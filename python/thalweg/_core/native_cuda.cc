// Accelerators as thalweg.cuda offers them, and tensors on them.
#include <dlfcn.h>
#include <pybind11/stl.h>

#include <cstring>
#include <optional>

#include "device/recording.h"
#include "eager/dispatch.h"
#include "eager/placing.h"
#include "eager/result_order.h"
#include "native.h"

namespace tw::py {

namespace pb = pybind11;
using device::accelerator;

namespace {

// A stream or an event in Python's hands.
struct StreamHandle {
  Ref<device::Stream> stream;
};
struct EventHandle {
  Ref<device::Event> event;
  bool recorded = false;
};

std::string load_accelerator(const std::string& path) {
  std::string why = device::load_accelerator(path);
  if (why.empty()) eager::use_kernels(accelerator().kernels(), accelerator().type());
  return why;
}

pb::dict info(int device) {
  device::AcceleratorInfo found = accelerator().info(device);
  pb::dict result;
  result["name"] = found.name;
  result["total_memory"] = found.memory_bytes;
  result["major"] = found.major;
  result["minor"] = found.minor;
  result["multi_processor_count"] = found.processors;
  return result;
}

device::Device device_named(const std::string& name) {
  device::Device device = device::parse_device(name);
  if (device.type == device::DeviceType::kCuda && name.find(':') == std::string::npos)
    device.index = accelerator().current_device();
  return device;
}

// Tensors are made on a device between enter and exit.
class Placed {
 public:
  explicit Placed(const std::string& name) : device_(device_named(name)) {
    TW_CHECK(device_.type == device::DeviceType::kCpu ||
                 device_.index < device::backend_of(device_).device_count(),
             kDevice, "there is no device ", device_, ": there are ",
             device::backend_of(device_).device_count());
  }
  void enter() { guard_.emplace(device_); }
  void exit() { guard_.reset(); }

 private:
  device::Device device_;
  std::optional<eager::DeviceGuard> guard_;
};

void bind_streams(pb::module_& m) {
  pb::class_<StreamHandle>(m, "CudaStream")
      .def(pb::init(
          [](int device, int priority) { return StreamHandle{accelerator().make_stream(device, priority)}; }))
      .def_static(
          "current",
          [](int device) { return StreamHandle{Ref<device::Stream>(&accelerator().current_stream(device))}; })
      .def_static("default", [](int device) { return StreamHandle{accelerator().default_stream(device)}; })
      .def_property_readonly("device",
                             [](const StreamHandle& s) { return accelerator().device_of(*s.stream); })
      .def_property_readonly("native",
                             [](const StreamHandle& s) {
                               return reinterpret_cast<uintptr_t>(accelerator().native_handle(*s.stream));
                             })
      .def("make_current", [](const StreamHandle& s) { accelerator().set_current_stream(s.stream); })
      .def("done", [](const StreamHandle& s) { return accelerator().done(*s.stream); })
      .def("wait",
           [](const StreamHandle& s, const EventHandle& e) { accelerator().wait(*s.stream, *e.event); })
      .def(
          "synchronize", [](const StreamHandle& s) { s.stream->synchronize(); },
          pb::call_guard<pb::gil_scoped_release>());
  pb::class_<EventHandle>(m, "CudaEvent")
      .def(pb::init([](int device) { return EventHandle{accelerator().make_event(device)}; }))
      .def("record",
           [](EventHandle& e, const StreamHandle& s) {
             e.event->record(*s.stream);
             e.recorded = true;
           })
      .def("done", [](const EventHandle& e) { return e.event->done(); })
      .def("elapsed_ms",
           [](const EventHandle& begin, const EventHandle& end) {
             TW_CHECK(begin.recorded && end.recorded, kRuntime,
                      "elapsed_time: both events must have been recorded");
             return accelerator().elapsed_ms(*begin.event, *end.event);
           })
      .def(
          "synchronize", [](const EventHandle& e) { e.event->wait(); },
          pb::call_guard<pb::gil_scoped_release>());
}

// The same elements in host memory that copies to a device need not buffer.
eager::Tensor pinned(const eager::Tensor& tensor) {
  TW_CHECK(tensor->device().type == device::DeviceType::kCpu, kRuntime,
           "pin_memory: a tensor on the CPU is wanted, got one on ", tensor->device());
  eager::Tensor source = tensor->contiguous ? tensor : eager::row_major_copy(eager::alias(*tensor));
  size_t size_bytes = static_cast<size_t>(source->count()) * size_of(source->dtype);
  void* data = accelerator().allocate_pinned(size_bytes);
  std::memcpy(data, source->data(), size_bytes);
  auto release = [data] {
    // Copies from it may be queued on any stream.
    for (int i = 0; i < accelerator().device_count(); i++) accelerator().synchronize(i);
    accelerator().free_pinned(data);
  };
  eager::Tensor result(new eager::TensorImpl);
  result->storage = make_ref<eager::Storage>(device::Device{}, data, size_bytes, release);
  result->dtype = source->dtype;
  result->set_geometry({source->sizes, contiguous_strides(source->sizes), 0});
  return result;
}

}  // namespace

void bind_cuda(pb::module_& m) {
  m.def("load_accelerator", load_accelerator);
  m.def("has_cuda_driver", [] {
    void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);  // kept: the backend uses it
    return driver != nullptr;
  });
  m.def("has_accelerator", [] { return device::find_accelerator() != nullptr; });
  m.def("cuda_device_count", [] { return accelerator().device_count(); });
  m.def("cuda_info", info);
  m.def("cuda_current_device", [] { return accelerator().current_device(); });
  m.def("cuda_set_device", [](int device) { accelerator().set_current_device(device); });
  m.def(
      "cuda_synchronize", [](int device) { accelerator().synchronize(device); },
      pb::call_guard<pb::gil_scoped_release>());
  m.def("cuda_memory_stats", [](int device) {
    device::MemoryStats stats = accelerator().memory_stats(device);
    pb::dict result;
    result["allocated_bytes"] = stats.allocated_bytes;
    result["peak_allocated_bytes"] = stats.peak_allocated_bytes;
    result["reserved_bytes"] = stats.reserved_bytes;
    result["allocation_count"] = stats.allocation_count;
    return result;
  });
  m.def("cuda_reset_peak", [](int device) { accelerator().reset_peak(device); });
  m.def("cuda_empty_cache", [](int device) { accelerator().empty_cache(device); });
  m.def("allow_recordings", device::allow_recordings);
  m.def("to_device", [](const eager::Tensor& tensor, const std::string& name, bool ahead) {
    return eager::to_device(tensor, device_named(name), ahead);
  });
  m.def("record_stream", [](const eager::Tensor& tensor, const StreamHandle& stream) {
    accelerator().record_use(tensor->storage->data(), *stream.stream);
  });
  m.def("pinned", pinned);
  pb::class_<Placed>(m, "Placed")
      .def(pb::init<const std::string&>())
      .def("__enter__", &Placed::enter)
      .def("__exit__", [](Placed& placed, const pb::args&) { placed.exit(); });
  bind_streams(m);
}

}  // namespace tw::py

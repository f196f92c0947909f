#include "device/backend.h"
#include "device/cpu/caching_allocator.h"
#include "device/cpu/gemm.h"
#include "device/cpu/parallel.h"
#include "eager/dispatch.h"
#include "native.h"

namespace tw::py {

namespace pb = pybind11;

namespace {

void* release_lock() { return PyGILState_Check() ? PyEval_SaveThread() : nullptr; }
void acquire_lock(void* token) { PyEval_RestoreThread(static_cast<PyThreadState*>(token)); }

pb::dict memory_stats(int device) {
  device::MemoryStats stats = device::cpu_backend().memory_stats(device);
  pb::dict result;
  result["allocated_bytes"] = stats.allocated_bytes;
  result["peak_allocated_bytes"] = stats.peak_allocated_bytes;
  result["reserved_bytes"] = stats.reserved_bytes;
  result["allocation_count"] = stats.allocation_count;
  return result;
}

}  // namespace

void bind_device(pb::module_& m) {
  eager::set_lock_hooks({release_lock, acquire_lock});
  m.def("num_threads", device::num_threads);
  m.def("set_num_threads", device::set_num_threads);
  m.def("allow_matrix_unit", device::allow_matrix_unit);
  m.def("memory_stats", memory_stats);
  m.def("reset_peak_memory_stats", [](int device) { device::cpu_backend().reset_peak(device); });
  m.def("cpu_device_count", [] { return device::cpu_backend().device_count(); });
  m.def("allocate_for_long", device::allocate_for_long);
  m.def("empty_cache", [](int device) { device::cpu_backend().empty_cache(device); });
  m.def("default_dtype", default_float);
  m.def("set_default_dtype", set_default_float);
  m.def("promote_types", promote);
}

}  // namespace tw::py

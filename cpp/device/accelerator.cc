#include "device/accelerator.h"

#include <device/abi.h>  // generated, see cmake/abi.cmake
#include <dlfcn.h>

#include <mutex>

namespace tw::device {

constinit std::atomic<Accelerator*> g_accelerator = nullptr;

std::string load_accelerator(const std::string& path) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (find_accelerator()) return "";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return cat("the CUDA library cannot be loaded: ", dlerror());
  using Entry = Accelerator* (*)(uint64_t);
  auto entry = reinterpret_cast<Entry>(dlsym(library, "thalweg_backend"));
  if (!entry) return cat(path, " is no backend of thalweg: it has no entry named thalweg_backend");
  Accelerator* found = entry(kAbiHash);
  if (!found)
    return cat(path,
               " was built for another version of thalweg; install the thalweg-cuda of the same version");
  std::string why = found->why_unavailable();
  if (why.empty()) g_accelerator.store(found, std::memory_order_release);
  return why;
}

Accelerator& accelerator() {
  Accelerator* found = find_accelerator();
  TW_CHECK(found, kDevice, "there is no CUDA backend; tw.cuda.why_unavailable() says why");
  return *found;
}

Backend& backend_of(Device device) {
  if (device.type == DeviceType::kCpu) [[likely]]
    return cpu_backend();
  Accelerator* found = find_accelerator();
  TW_CHECK(found, kDevice, "there is no backend for device ", device, "; tw.cuda.why_unavailable() says why");
  return *found;
}

}  // namespace tw::device

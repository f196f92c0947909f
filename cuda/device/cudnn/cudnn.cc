#include "cuda/device/cudnn/cudnn.h"

#include <dlfcn.h>

#include <string>
#include <utility>

#include "base/error.h"

namespace tw::cuda {

namespace {

struct Loaded {
  Cudnn functions{};
  std::string problem;  // empty: none
};

// By name: the run-time path of this library leads to the wheel's folder, and the system's comes after it.
Loaded load() {
  Loaded loaded;
  void* library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    loaded.problem = dlerror();
    return loaded;
  }
  auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (!function) loaded.problem = std::string("it lacks ") + name;
  };
  Cudnn& f = loaded.functions;
  find(f.create, "cudnnCreate");
  find(f.set_stream, "cudnnSetStream");
  find(f.error_string, "cudnnGetErrorString");
  find(f.create_descriptor, "cudnnBackendCreateDescriptor");
  find(f.destroy_descriptor, "cudnnBackendDestroyDescriptor");
  find(f.set_attribute, "cudnnBackendSetAttribute");
  find(f.get_attribute, "cudnnBackendGetAttribute");
  find(f.finalize, "cudnnBackendFinalize");
  find(f.execute, "cudnnBackendExecute");
  return loaded;
}

const Loaded& loaded() {
  static const Loaded* once = new Loaded(load());
  return *once;
}

}  // namespace

const Cudnn& cudnn(const char* op) {
  TW_CHECK(loaded().problem.empty(), kDevice, op,
           ": cuDNN 9 is needed (pip install nvidia-cudnn-cu13) and cannot be loaded: ", loaded().problem);
  return loaded().functions;
}

void check_cudnn(cudnnStatus_t status, const char* op) {
  TW_CHECK(status == CUDNN_STATUS_SUCCESS, kDevice, op, ": cuDNN: ", cudnn(op).error_string(status));
}

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type, const char* op) : op_(op) {
  check_cudnn(cudnn(op).create_descriptor(type, &handle_), op);
}
CudnnDescriptor::~CudnnDescriptor() {
  if (handle_) loaded().functions.destroy_descriptor(handle_);
}
CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : op_(other.op_), handle_(std::exchange(other.handle_, nullptr)) {}

void CudnnDescriptor::set_bytes(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                int64_t count, const void* values) {
  check_cudnn(cudnn(op_).set_attribute(handle_, name, type, count, values), op_);
}

int64_t CudnnDescriptor::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                             int64_t count, void* values) const {
  int64_t all = 0;
  check_cudnn(cudnn(op_).get_attribute(handle_, name, type, count, &all, values), op_);
  return all;
}

cudnnStatus_t CudnnDescriptor::try_finalize() { return cudnn(op_).finalize(handle_); }

}  // namespace tw::cuda

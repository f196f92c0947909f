// cuDNN's graph interface: loaded when it is first used, so that a machine without it misses convolutions
// alone. Its objects are descriptors of attributes.
#pragma once

#include <cudnn_graph.h>

namespace tw::cuda {

struct Cudnn {
  decltype(&cudnnCreate) create;
  decltype(&cudnnSetStream) set_stream;
  decltype(&cudnnGetErrorString) error_string;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor;
  decltype(&cudnnBackendSetAttribute) set_attribute;
  decltype(&cudnnBackendGetAttribute) get_attribute;
  decltype(&cudnnBackendFinalize) finalize;
  decltype(&cudnnBackendExecute) execute;
};

// Throws kDevice, naming `op`, where the library cannot be loaded.
const Cudnn& cudnn(const char* op);

// Throws kDevice with cuDNN's words unless `status` is a success.
void check_cudnn(cudnnStatus_t status, const char* op);

class CudnnDescriptor {
 public:
  CudnnDescriptor(cudnnBackendDescriptorType_t type, const char* op);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&&) = delete;

  cudnnBackendDescriptor_t handle() const { return handle_; }
  template <class T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
           const T* values) {
    set_bytes(name, type, count, values);
  }
  template <class T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    set_bytes(name, type, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
    set_bytes(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.handle_);
  }
  // How many elements there are; up to `count` of them are written.
  int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
              void* values) const;
  cudnnStatus_t try_finalize();
  void finalize() { check_cudnn(try_finalize(), op_); }

 private:
  void set_bytes(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                 const void* values);
  const char* op_;
  cudnnBackendDescriptor_t handle_ = nullptr;
};

}  // namespace tw::cuda

// Streams and events of CUDA, and which stream each thread works on.
#pragma once

#include "cuda/common/runtime.h"
#include "device/backend.h"

namespace tw::cuda {

class CudaStream final : public device::Stream {
 public:
  // The device's default stream, or one of its own that does not wait for it.
  explicit CudaStream(int device) : device_(device) {}
  CudaStream(int device, int priority);
  ~CudaStream() override;

  void synchronize() override;
  bool done() const;
  int device() const { return device_; }
  cudaStream_t handle() const { return handle_; }

 private:
  int device_;
  cudaStream_t handle_ = nullptr;
};

class CudaEvent final : public device::Event {
 public:
  explicit CudaEvent(int device);
  ~CudaEvent() override;

  void record(device::Stream& stream) override;
  void wait() override;
  bool done() override;
  int device() const { return device_; }
  cudaEvent_t handle() const { return handle_; }

 private:
  int device_;
  cudaEvent_t handle_ = nullptr;
};

// Makes a device the thread's current one while it lives.
class OnDevice {
 public:
  explicit OnDevice(int device);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_;
};

int device_count();  // 0 without a driver
int current_device();
void set_current_device(int device);
// Throws kDevice naming a device that does not exist.
void check_device(int device);

CudaStream& default_stream(int device);
// The stream that this thread works on; its default stream until another is set.
CudaStream& stream_of_thread(int device);
void set_stream_of_thread(const Ref<CudaStream>& stream);

}  // namespace tw::cuda

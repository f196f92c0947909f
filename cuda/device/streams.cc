#include "cuda/device/streams.h"

#include <mutex>
#include <vector>

#include "base/error.h"
#include "cuda/device/failures.h"

namespace tw::cuda {

namespace {

// Of this thread, by device; empty until one is set. A pointer, because static thread storage is scarce.
thread_local std::vector<Ref<CudaStream>>* t_streams = nullptr;

}  // namespace

CudaStream::CudaStream(int device, int priority) : device_(device) {
  OnDevice on(device);
  check(cudaStreamCreateWithPriority(&handle_, cudaStreamNonBlocking, priority), "Stream");
}

CudaStream::~CudaStream() {
  if (handle_) cudaStreamDestroy(handle_);
}

void CudaStream::synchronize() {
  OnDevice on(device_);
  check(cudaStreamSynchronize(handle_), "Stream.synchronize");
  check_failures();
}

bool CudaStream::done() const {
  OnDevice on(device_);
  cudaError_t error = cudaStreamQuery(handle_);
  if (error == cudaErrorNotReady) return false;
  check(error, "Stream.query");
  return true;
}

CudaEvent::CudaEvent(int device) : device_(device) {
  OnDevice on(device);
  check(cudaEventCreateWithFlags(&handle_, cudaEventDefault), "Event");
}

CudaEvent::~CudaEvent() { cudaEventDestroy(handle_); }

void CudaEvent::record(device::Stream& stream) {
  auto& queue = static_cast<CudaStream&>(stream);
  TW_CHECK(queue.device() == device_, kValue, "Event.record: a stream of cuda:", device_,
           " is wanted, got one of cuda:", queue.device());
  OnDevice on(device_);
  check(cudaEventRecord(handle_, queue.handle()), "Event.record");
}

void CudaEvent::wait() {
  check(cudaEventSynchronize(handle_), "Event.synchronize");
  check_failures();
}

bool CudaEvent::done() {
  cudaError_t error = cudaEventQuery(handle_);
  if (error == cudaErrorNotReady) return false;
  check(error, "Event.query");
  return true;
}

OnDevice::OnDevice(int device) : before_(current_device()) {
  if (device != before_) set_current_device(device);
}

OnDevice::~OnDevice() {
  cudaSetDevice(before_);  // it was current before, so it exists
}

int device_count() {
  static int count = [] {
    int found = 0;
    return cudaGetDeviceCount(&found) == cudaSuccess ? found : 0;
  }();
  return count;
}

int current_device() {
  int device = 0;
  check(cudaGetDevice(&device), "current_device");
  return device;
}

void set_current_device(int device) {
  check_device(device);
  check(cudaSetDevice(device), "set_device");
}

void check_device(int device) {
  TW_CHECK(device >= 0 && device < device_count(), kDevice, "there is no device cuda:", device,
           ": there are ", device_count());
}

CudaStream& default_stream(int device) {
  static const auto* streams = [] {
    auto* all = new std::vector<Ref<CudaStream>>;
    for (int i = 0; i < device_count(); i++) all->push_back(make_ref<CudaStream>(i));
    return all;
  }();
  check_device(device);
  return *(*streams)[device];
}

CudaStream& stream_of_thread(int device) {
  if (!t_streams || !(*t_streams)[device]) return default_stream(device);
  return *(*t_streams)[device];
}

void set_stream_of_thread(const Ref<CudaStream>& stream) {
  if (!t_streams) t_streams = new std::vector<Ref<CudaStream>>(device_count());
  (*t_streams)[stream->device()] = stream;
}

cudaStream_t current_stream() { return stream_of_thread(current_device()).handle(); }

}  // namespace tw::cuda

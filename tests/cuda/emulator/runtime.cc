#include "tests/cuda/emulator/runtime.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "base/cat.h"
#include "tests/cuda/emulator/block.h"
#include "tests/cuda/emulator/graphs.h"
#include "tests/cuda/emulator/memory.h"

using namespace tw::cuda::emulator;

struct CUstream_st {
  int device;
};
struct CUevent_st {
  std::chrono::steady_clock::time_point time;
};

namespace {

thread_local int t_device = 0;
int g_capability = 9;  // of every device
cudaError_t g_error = cudaSuccess;
std::string g_sentence;

cudaError_t failed(cudaError_t error) { return g_error = error; }

void move(void* to, const void* from, size_t size_bytes) {
  DeviceAccess access;
  std::memmove(to, from, size_bytes);
  if (!g_region.holds(to)) return;
  if (g_region.holds(from))
    std::memmove(g_region.states_of(to), g_region.states_of(from), size_bytes);
  else
    mark(to, size_bytes, ByteState::kSet);
}

// Copies, unlike kernels, are checked against whose bytes they touch alone.
bool is_somebodys(const void* data, size_t size_bytes) {
  if (!g_region.holds(data)) return true;
  const ByteState* states = g_region.states_of(data);
  for (size_t i = 0; i < size_bytes; i++)
    if (states[i] == ByteState::kFree) return false;
  return true;
}

cudaError_t out_of_bounds(const char* what, const void* data) {
  g_sentence = tw::cat(what, " touches device memory that is nobody's: ", place_of(data));
  return failed(cudaErrorInvalidValue);
}

}  // namespace

// For tests of what older devices run.
extern "C" __attribute__((visibility("default"))) void tw_emulate_capability(int major) {
  g_capability = major;
}
extern "C" __attribute__((visibility("default"))) unsigned tw_take_largest_block() {
  return take_largest_block();
}

cudaError_t cudaGetLastError() {
  if (std::string fault = take_fault(); !fault.empty()) {
    g_sentence = fault;
    return cudaErrorLaunchFailure;
  }
  return std::exchange(g_error, cudaSuccess);
}

const char* cudaGetErrorString(cudaError_t error) {
  if (error == cudaErrorStreamCaptureUnsupported) return "not while the stream is captured";
  if (error == cudaErrorStreamCaptureInvalidated) return "the capture has failed";
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidDevice:
      return "there is no such device";
    case cudaErrorNotReady:
      return "not ready";
    default:
      return g_sentence.empty() ? "an invalid call" : g_sentence.c_str();
  }
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = device_count();
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = t_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= device_count()) return failed(cudaErrorInvalidDevice);
  t_device = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device < 0 || device >= device_count()) return failed(cudaErrorInvalidDevice);
  *properties = {"emulated device", capacity(), g_capability, 0, 4};
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMultiProcessorCount      ? 4
           : attribute == cudaDevAttrComputeCapabilityMajor ? g_capability
                                                            : 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device != peer;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *total = capacity();
  size_t used = used_bytes(t_device);
  *free = used < *total ? *total - used : 0;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** data, size_t size_bytes) {
  *data = allocate_block(t_device, size_bytes);
  return *data ? cudaSuccess : failed(cudaErrorMemoryAllocation);
}
cudaError_t cudaFree(void* data) {
  return !data || free_block(data) ? cudaSuccess : failed(cudaErrorInvalidValue);
}
cudaError_t cudaMallocHost(void** data, size_t size_bytes) {
  *data = std::aligned_alloc(4096, (size_bytes + 4095) / 4096 * 4096);
  return *data ? cudaSuccess : failed(cudaErrorMemoryAllocation);
}
cudaError_t cudaHostAlloc(void** data, size_t size_bytes, unsigned flags) {
  cudaError_t error = cudaMallocHost(data, size_bytes);
  if (error == cudaSuccess && flags & cudaHostAllocMapped) map_host(*data, size_bytes);
  return error;
}
cudaError_t cudaFreeHost(void* data) {
  std::free(data);
  return cudaSuccess;
}
// In a capture, memory of the host would be that of later runs, too.
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size_bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  static const char copy = 0;
  const bool on_device = g_region.holds(to) && g_region.holds(from);
  if (!on_device && !may_wait()) return failed(cudaErrorStreamCaptureUnsupported);
  if (keep(&copy, [=] { cudaMemcpyAsync(to, from, size_bytes, kind, stream); })) return cudaSuccess;
  if (!is_somebodys(to, size_bytes)) return out_of_bounds("cudaMemcpyAsync", to);
  if (!is_somebodys(from, size_bytes)) return out_of_bounds("cudaMemcpyAsync", from);
  move(to, from, size_bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* data, int value, size_t size_bytes, cudaStream_t stream) {
  static const char fill = 0;
  if (keep(&fill, [=] { cudaMemsetAsync(data, value, size_bytes, stream); })) return cudaSuccess;
  if (!is_somebodys(data, size_bytes)) return out_of_bounds("cudaMemsetAsync", data);
  DeviceAccess access;
  std::memset(data, value, size_bytes);
  if (g_region.holds(data)) mark(data, size_bytes, ByteState::kSet);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  *stream = new CUstream_st{t_device};
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return may_wait() ? cudaSuccess : failed(cudaErrorStreamCaptureUnsupported);
}
cudaError_t cudaStreamQuery(cudaStream_t) {
  return may_wait() ? cudaSuccess : failed(cudaErrorStreamCaptureUnsupported);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st{};
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  event->time = std::chrono::steady_clock::now();
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  *ms = std::chrono::duration<float, std::milli>(end->time - begin->time).count();
  return cudaSuccess;
}

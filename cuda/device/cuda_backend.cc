// CUDA as a backend: memory from caching allocators, one a device; work queued on the stream of the calling
// thread.
#include "cuda/device/cuda_backend.h"

#include <memory>
#include <vector>

#include "base/error.h"
#include "cuda/comm/groups.h"
#include "cuda/device/caching_allocator.h"
#include "cuda/device/failures.h"
#include "cuda/device/recording.h"
#include "cuda/device/streams.h"

namespace tw::cuda {

namespace {

CudaStream& cuda(device::Stream& stream) { return static_cast<CudaStream&>(stream); }
const CudaStream& cuda(const device::Stream& stream) { return static_cast<const CudaStream&>(stream); }
CudaEvent& cuda(device::Event& event) { return static_cast<CudaEvent&>(event); }

class CudaBackend final : public device::Accelerator, public device::Recorders {
 public:
  CudaBackend() {
    for (int i = 0; i < cuda::device_count(); i++)
      allocators_.push_back(std::make_unique<CachingAllocator>(i));
    register_kernels(kernels_);
    register_groups();
  }

  device::DeviceType type() const override { return device::DeviceType::kCuda; }
  int device_count() const override { return cuda::device_count(); }
  std::string why_unavailable() override;
  device::AcceleratorInfo info(int device) override;

  void* allocate(size_t size_bytes, int device) override {
    return at(device).allocate(size_bytes, stream_of_thread(device).handle());
  }
  void free(void* data, size_t, int device) override { at(device).free(data); }
  device::MemoryStats memory_stats(int device) const override { return at(device).stats(); }
  void reset_peak(int device) override { at(device).reset_peak(); }
  void empty_cache(int device) override { at(device).empty_cache(); }
  void record_use(void* data, device::Stream& stream) override {
    at(cuda(stream).device()).record_use(data, cuda(stream));
  }
  void* allocate_pinned(size_t size_bytes) override;
  void free_pinned(void* data) override { check(cudaFreeHost(data), "pin_memory"); }

  int current_device() override { return cuda::current_device(); }
  void set_current_device(int device) override { cuda::set_current_device(device); }
  void synchronize(int device) override {
    OnDevice on(device);
    check(cudaDeviceSynchronize(), "synchronize");
    check_failures();
  }

  device::Stream& current_stream(int device) override {
    check_device(device);
    return stream_of_thread(device);
  }
  Ref<device::Stream> default_stream(int device) override {
    return Ref<device::Stream>(&cuda::default_stream(device));
  }
  Ref<device::Stream> make_stream(int device, int priority) override {
    return make_ref<CudaStream>(device, priority);
  }
  void set_current_stream(const Ref<device::Stream>& stream) override {
    set_stream_of_thread(Ref<CudaStream>(&cuda(*stream)));
  }
  int device_of(const device::Stream& stream) override { return cuda(stream).device(); }
  bool done(const device::Stream& stream) override { return cuda(stream).done(); }
  void* native_handle(const device::Stream& stream) override { return cuda(stream).handle(); }

  Ref<device::Event> make_event(int device) override { return make_ref<CudaEvent>(device); }
  void wait(device::Stream& stream, device::Event& event) override {
    OnDevice on(cuda(stream).device());
    check(cudaStreamWaitEvent(cuda(stream).handle(), cuda(event).handle(), 0), "Stream.wait_event");
  }
  double elapsed_ms(device::Event& begin, device::Event& end) override {
    float ms = 0;
    check(cudaEventElapsedTime(&ms, cuda(begin).handle(), cuda(end).handle()), "Event.elapsed_time");
    return ms;
  }
  void copy(void* to, const void* from, size_t size_bytes, device::Stream& stream) override {
    OnDevice on(cuda(stream).device());
    check(cudaMemcpyAsync(to, from, size_bytes, cudaMemcpyDefault, cuda(stream).handle()), "copy");
  }

  Ref<device::Recorder> make_recorder(int device) override { return make_cuda_recorder(device, at(device)); }

  const device::KernelTable& kernels() const override { return kernels_; }

 private:
  CachingAllocator& at(int device) const {
    check_device(device);
    return *allocators_[device];
  }

  std::vector<std::unique_ptr<CachingAllocator>> allocators_;
  device::KernelTable kernels_;
};

std::string CudaBackend::why_unavailable() {
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorInsufficientDriver) return "the NVIDIA driver is missing or too old for CUDA 13.0";
  if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0))
    return "the NVIDIA driver finds no GPU";
  if (error != cudaSuccess) return cat("the CUDA runtime cannot be used: ", cudaGetErrorString(error));
  return "";
}

device::AcceleratorInfo CudaBackend::info(int device) {
  check_device(device);
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device), "get_device_properties");
  return {properties.name, static_cast<int64_t>(properties.totalGlobalMem), properties.major,
          properties.minor, properties.multiProcessorCount};
}

void* CudaBackend::allocate_pinned(size_t size_bytes) {
  void* data = nullptr;
  cudaError_t error = cudaMallocHost(&data, size_bytes ? size_bytes : 1);
  TW_CHECK(error != cudaErrorMemoryAllocation, kOutOfMemory, "pin_memory: the host has no ", size_bytes,
           " bytes to pin");
  check(error, "pin_memory");
  return data;
}

}  // namespace

device::Accelerator& backend() {
  static auto* made = new CudaBackend;  // never destroyed: tensors may outlive every static object
  return *made;
}

}  // namespace tw::cuda

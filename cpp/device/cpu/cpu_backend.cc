// The CPU as a backend: memory from the caching allocators, one a device, work done at once on the caller and
// the shared pool.
#include <atomic>
#include <cstring>

#include "base/error.h"
#include "device/backend.h"
#include "device/cpu/caching_allocator.h"
#include "device/cpu/device_count.h"
#include "device/cpu/parallel.h"

namespace tw::device {

namespace {

constexpr int64_t kCopyGrain = 512 << 10;  // bytes that are worth a thread

std::atomic<const KernelTable*> g_kernels{nullptr};
std::atomic<int> g_device_count{1};

class CpuStream : public Stream {
 public:
  void synchronize() override {}
};

class CpuEvent : public Event {
 public:
  void record(Stream&) override {}
  void wait() override {}
  bool done() override { return true; }
};

class CpuBackend : public Backend {
 public:
  DeviceType type() const override { return DeviceType::kCpu; }
  int device_count() const override { return g_device_count.load(std::memory_order_acquire); }

  void* allocate(size_t size_bytes, int device) override { return at(device).allocate(size_bytes); }
  void free(void* data, size_t size_bytes, int device) override { at(device).free(data, size_bytes); }
  MemoryStats memory_stats(int device) const override { return checked(device).stats(); }
  void reset_peak(int device) override { checked(device).reset_peak(); }
  void empty_cache(int device) override { checked(device).empty_cache(); }

  Stream& current_stream(int) override { return *stream_; }
  Ref<Event> make_event(int) override { return make_ref<CpuEvent>(); }
  void copy(void* to, const void* from, size_t size_bytes, Stream&) override {
    parallel_for(0, static_cast<int64_t>(size_bytes), kCopyGrain, [&](int64_t first, int64_t last) {
      std::memcpy(static_cast<char*>(to) + first, static_cast<const char*>(from) + first, last - first);
    });
  }

  const KernelTable& kernels() const override {
    const KernelTable* table = g_kernels.load(std::memory_order_acquire);
    TW_CHECK(table, kInternal, "the CPU kernels were asked for before they were registered");
    return *table;
  }

 private:
  CachingAllocator& at(int device) {
    if (device == 0) [[likely]]
      return allocator_;
    return CachingAllocator::of(device);
  }
  CachingAllocator& checked(int device) const {
    TW_CHECK(device >= 0 && device < device_count(), kDevice, "there is no device cpu:", device,
             ": this process has ", device_count());
    return CachingAllocator::of(device);
  }

  CachingAllocator& allocator_ = CachingAllocator::get();
  Ref<CpuStream> stream_ = make_ref<CpuStream>();
};

}  // namespace

Backend& cpu_backend() {
  static auto* backend = new CpuBackend;  // never destroyed: tensors may outlive every static object
  return *backend;
}

void set_cpu_device_count(int count) {
  TW_CHECK(count >= 1 && count <= CachingAllocator::kMaxDevices, kValue, "the CPU can be cut into 1 to ",
           CachingAllocator::kMaxDevices, " devices, got ", count);
  g_device_count.store(count, std::memory_order_release);
}

void set_cpu_kernels(const KernelTable* table) { g_kernels.store(table, std::memory_order_release); }

}  // namespace tw::device

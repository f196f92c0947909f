// The CPU as a backend: memory from the caching allocator, work done at once on the caller and the shared
// pool.
#include <atomic>
#include <cstring>

#include "base/error.h"
#include "device/backend.h"
#include "device/cpu/caching_allocator.h"
#include "device/cpu/parallel.h"

namespace tw::device {

namespace {

constexpr int64_t kCopyGrain = 512 << 10;  // bytes that are worth a thread

std::atomic<const KernelTable*> g_kernels{nullptr};

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
  int device_count() const override { return 1; }

  void* allocate(size_t size_bytes, int) override { return allocator_.allocate(size_bytes); }
  void free(void* data, size_t size_bytes, int) override { allocator_.free(data, size_bytes); }
  MemoryStats memory_stats(int) const override { return allocator_.stats(); }
  void reset_peak(int) override { allocator_.reset_peak(); }
  void empty_cache(int) override { allocator_.empty_cache(); }

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
  CachingAllocator& allocator_ = CachingAllocator::get();
  Ref<CpuStream> stream_ = make_ref<CpuStream>();
};

}  // namespace

Backend& cpu_backend() {
  static auto* backend = new CpuBackend;  // never destroyed: tensors may outlive every static object
  return *backend;
}

void set_cpu_kernels(const KernelTable* table) { g_kernels.store(table, std::memory_order_release); }

}  // namespace tw::device

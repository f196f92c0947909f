// What a kind of device must offer: memory, streams, events, copies and kernels. The CPU backend is in cpu/;
// other backends are libraries loaded at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/intrusive.h"
#include "device/kernel.h"

namespace tw::device {

enum class DeviceType : uint8_t { kCpu, kCuda };

struct Device {
  DeviceType type = DeviceType::kCpu;
  int index = 0;
  friend bool operator==(const Device&, const Device&) = default;
};
std::string name_of(Device device);  // "cpu", "cuda:3"
Device parse_device(std::string_view text);
inline void append_text(std::string& out, Device device) { out += name_of(device); }

struct MemoryStats {
  int64_t allocated_bytes = 0;  // handed out now, rounded up to blocks
  int64_t peak_allocated_bytes = 0;
  int64_t reserved_bytes = 0;    // taken from the operating system, cached blocks included
  int64_t allocation_count = 0;  // since the start
};

// A queue of work on one device. CPU streams run their work at once on the caller.
class Stream : public RefCounted {
 public:
  virtual void synchronize() = 0;
};

// A point in a stream's work. `record` marks it, `wait` blocks the caller until it has been reached.
class Event : public RefCounted {
 public:
  virtual void record(Stream& stream) = 0;
  virtual void wait() = 0;
  virtual bool done() = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual DeviceType type() const = 0;
  virtual int device_count() const = 0;

  // At least `size_bytes` bytes aligned to 64; throws kOutOfMemory naming the size. `size_bytes` may be 0.
  virtual void* allocate(size_t size_bytes, int device) = 0;
  virtual void free(void* data, size_t size_bytes, int device) = 0;
  virtual MemoryStats memory_stats(int device) const = 0;
  virtual void reset_peak(int device) = 0;
  virtual void empty_cache(int device) = 0;

  virtual Stream& current_stream(int device) = 0;
  virtual Ref<Event> make_event(int device) = 0;
  virtual void copy(void* to, const void* from, size_t size_bytes, Stream& stream) = 0;

  virtual const KernelTable& kernels() const = 0;
};

Backend& cpu_backend();
// The CPU's kernels; set once, before the first op, by the layer that knows the ops.
void set_cpu_kernels(const KernelTable* table);

}  // namespace tw::device

// The emulated devices' memory, with a state for every byte, so that accesses beyond a block, after its end
// and before anything was written are told.
//
// Each device has its share of one region of addresses, which its kernels alone may touch. Blocks keep kGap
// bytes of nobody's memory between them. Under the caching allocator one block holds many tensors:
// mark_allocated() and mark_free() say which bytes are whose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tw::cuda::emulator {

enum class ByteState : uint8_t { kFree, kUnset, kSet };

// Four, or what THALWEG_EMULATED_DEVICES says, up to kMostDevices.
inline constexpr int kMostDevices = 16;
int device_count();
inline constexpr size_t kRegionBytes = size_t{32} << 30;
inline constexpr size_t kShareBytes = kRegionBytes / kMostDevices;
inline constexpr size_t kGap = 512;

struct Region {
  char* begin = nullptr;
  ByteState* states = nullptr;  // of every byte
  bool holds(const void* data) const {
    return static_cast<size_t>(static_cast<const char*>(data) - begin) < kRegionBytes;
  }
  int device_of(const void* data) const {
    return static_cast<int>((static_cast<const char*>(data) - begin) / kShareBytes);
  }
  ByteState* states_of(const void* data) const { return states + (static_cast<const char*>(data) - begin); }
};
extern Region g_region;

// While it lives, this thread may touch device memory; kernels and copies hold one.
class DeviceAccess {
 public:
  DeviceAccess();
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;

 private:
  unsigned before_;
};

// Memory of the host that kernels may touch, as long as the process lives.
void map_host(const void* data, size_t size_bytes);
bool is_mapped_host(const void* data);

void* allocate_block(int device, size_t size_bytes);  // null when the device is full
bool free_block(void* data);
size_t used_bytes(int device);
// The memory of each device, 1 GiB at first; for tests of running out.
void set_capacity(size_t size_bytes);
size_t capacity();

void mark(const void* data, size_t size_bytes, ByteState state);
// "8 bytes past the end of 96 bytes": where an address lies among what is marked as allocated.
std::string place_of(const void* data);

}  // namespace tw::cuda::emulator

#include "tests/cuda/emulator/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "base/cat.h"
#include "tests/cuda/emulator/graphs.h"

namespace tw::cuda::emulator {

namespace {

struct Block {
  size_t size_bytes;
  int device;
};

std::mutex g_mutex;
std::map<char*, Block> g_blocks;         // from cudaMalloc, by address
std::map<const char*, size_t> g_marked;  // what mark_allocated named, by address
size_t g_capacity = size_t{1} << 30;
size_t g_used[kMostDevices];
int g_key = -1;  // protection key of the region

void* reserve(size_t size_bytes) {
  void* data =
      mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    std::perror("emulator: no addresses for device memory");
    std::abort();
  }
  return data;
}

Region make_region() {
  Region region;
  region.begin = static_cast<char*>(reserve(kRegionBytes));
  region.states = static_cast<ByteState*>(reserve(kRegionBytes));
  g_key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
  if (g_key >= 0 && pkey_mprotect(region.begin, kRegionBytes, PROT_READ | PROT_WRITE, g_key) != 0) g_key = -1;
  return region;
}

size_t rounded(size_t size_bytes) { return (size_bytes + kGap - 1) / kGap * kGap + kGap; }

// The first gap between the device's blocks that is large enough.
char* find_place(int device, size_t size_bytes) {
  char* begin = g_region.begin + kShareBytes * static_cast<size_t>(device);
  char* at = begin + kGap;
  for (auto it = g_blocks.lower_bound(begin); it != g_blocks.end() && it->second.device == device; ++it) {
    if (static_cast<size_t>(it->first - at) >= size_bytes) return at;
    at = it->first + rounded(it->second.size_bytes);
  }
  return static_cast<size_t>(begin + kShareBytes - at) >= size_bytes ? at : nullptr;
}

}  // namespace

Region g_region = make_region();

int device_count() {
  static const int count = [] {
    const char* wanted = std::getenv("THALWEG_EMULATED_DEVICES");
    return wanted ? std::min(std::max(std::atoi(wanted), 1), kMostDevices) : 4;
  }();
  return count;
}

DeviceAccess::DeviceAccess() : before_(g_key >= 0 ? pkey_get(g_key) : 0) {
  if (g_key >= 0) pkey_set(g_key, 0);
}
DeviceAccess::~DeviceAccess() {
  if (g_key >= 0) pkey_set(g_key, before_);
}

namespace {

struct HostRange {
  const char *begin, *end;
};
std::mutex g_mapped_mutex;
std::vector<HostRange>& mapped() {
  static auto* ranges = new std::vector<HostRange>;
  return *ranges;
}

}  // namespace

void map_host(const void* data, size_t size_bytes) {
  std::lock_guard lock(g_mapped_mutex);
  auto* begin = static_cast<const char*>(data);
  mapped().push_back({begin, begin + size_bytes});
}

bool is_mapped_host(const void* data) {
  std::lock_guard lock(g_mapped_mutex);
  for (const HostRange& range : mapped())
    if (data >= range.begin && data < range.end) return true;
  return false;
}

void* allocate_block(int device, size_t size_bytes) {
  std::lock_guard lock(g_mutex);
  if (g_used[device] + size_bytes > g_capacity) return nullptr;
  char* data = find_place(device, rounded(size_bytes));
  if (!data) return nullptr;
  g_blocks[data] = {size_bytes, device};
  g_marked[data] = size_bytes;
  g_used[device] += size_bytes;
  mark(data, size_bytes, ByteState::kUnset);
  return data;
}

bool free_block(void* data) {
  std::lock_guard lock(g_mutex);
  auto found = g_blocks.find(static_cast<char*>(data));
  if (found == g_blocks.end()) return false;
  mark(data, found->second.size_bytes, ByteState::kFree);
  g_used[found->second.device] -= found->second.size_bytes;
  g_marked.erase(g_marked.lower_bound(found->first),
                 g_marked.lower_bound(found->first + found->second.size_bytes));
  g_blocks.erase(found);
  return true;
}

size_t used_bytes(int device) {
  std::lock_guard lock(g_mutex);
  return g_used[device];
}

void set_capacity(size_t size_bytes) {
  std::lock_guard lock(g_mutex);
  g_capacity = size_bytes;
}
size_t capacity() { return g_capacity; }

void mark(const void* data, size_t size_bytes, ByteState state) {
  if (size_bytes) std::memset(g_region.states_of(data), static_cast<int>(state), size_bytes);
}

std::string place_of(const void* data) {
  std::lock_guard lock(g_mutex);
  const char* at = static_cast<const char*>(data);
  auto after = g_marked.upper_bound(at);
  if (after == g_marked.begin()) return "before all memory of the device";
  auto before = std::prev(after);
  auto distance = static_cast<size_t>(at - before->first);
  if (distance < before->second) return cat("byte ", distance, " of a block of ", before->second, " bytes");
  return cat(distance - before->second, " bytes past the end of a block of ", before->second, " bytes");
}

}  // namespace tw::cuda::emulator

namespace tw::cuda {

using namespace emulator;

// Where work is captured, at this point of every run as well.
void mark_allocated(const void* data, size_t size_bytes) {
  static const char kind = 0;
  keep(&kind, [=] { mark_allocated(data, size_bytes); });
  std::lock_guard lock(g_mutex);
  mark(data, size_bytes, ByteState::kUnset);
  g_marked[static_cast<const char*>(data)] = size_bytes;
}

void mark_free(const void* data, size_t size_bytes) {
  static const char kind = 0;
  keep(&kind, [=] { mark_free(data, size_bytes); });
  std::lock_guard lock(g_mutex);
  mark(data, size_bytes, ByteState::kFree);
  g_marked.erase(static_cast<const char*>(data));
}

}  // namespace tw::cuda

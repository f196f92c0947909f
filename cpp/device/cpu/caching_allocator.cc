#include "device/cpu/caching_allocator.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "device/cpu/limits.h"
#include "device/cpu/size_class.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(data, size) ((void)(data), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(data, size) ((void)(data), (void)(size))
#endif

namespace tw::device {

namespace {

constexpr size_t kHugePage = 2 << 20;
constexpr size_t kHugeFrom = 2 << 20;  // blocks from here on lie in huge pages
constexpr size_t kSlabBytes = 1 << 20;
constexpr int64_t kReportBytes = 64 << 10;
constexpr int kLendableSteps = 5;  // classes: a block is at most 13/8 of what is asked for
constexpr size_t kPageBytes = 4096;

// A free block begins with the link to the next one; for AddressSanitizer the rest of it is poisoned.
struct FreeBlock {
  FreeBlock* next;
};

struct FreeList {
  FreeBlock* head = nullptr;
  unsigned count = 0;

  void push(void* data) {
    auto* block = static_cast<FreeBlock*>(data);
    block->next = head;
    head = block;
    count++;
  }
  void* pop() {
    FreeBlock* block = head;
    head = block->next;
    count--;
    return block;
  }
};

thread_local bool for_long __attribute__((tls_model("initial-exec"))) = false;

// How many blocks of a class move at once between a thread and the central list.
unsigned batch_of(int size_class) {
  return static_cast<unsigned>(std::clamp<size_t>((32 << 10) / class_bytes(size_class), 2, 64));
}

std::string in_words(double bytes) {
  const char* unit = "bytes";
  for (const char* larger : {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}) {
    if (bytes < 1024) break;
    bytes /= 1024;
    unit = larger;
  }
  return cat(static_cast<double>(static_cast<int64_t>(bytes * 10)) / 10, " ", unit);
}

// Of a block in huge pages the last part may lie in small ones, so that no memory is lost to rounding.
size_t mapped_bytes(size_t block_bytes) { return (block_bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

// Fresh memory, aligned to huge pages where it is large; null when the system has none.
void* map_block(size_t bytes) {
  bool huge = bytes >= kHugeFrom;
  size_t extra = huge ? kHugePage : 0;
  void* raw = mmap(nullptr, bytes + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  if (!huge) return raw;
  auto begin = reinterpret_cast<uintptr_t>(raw);
  uintptr_t aligned = (begin + kHugePage - 1) / kHugePage * kHugePage;
  if (aligned > begin) munmap(raw, aligned - begin);
  if (begin + extra > aligned) munmap(reinterpret_cast<void*>(aligned + bytes), begin + extra - aligned);
  madvise(reinterpret_cast<void*>(aligned), bytes, MADV_HUGEPAGE);
  return reinterpret_cast<void*>(aligned);
}

}  // namespace

struct ThreadCache {
  FreeList lists[kSmallClasses];
  // Written by this thread only, read by stats(): plain loads and stores, made atomic.
  std::atomic<int64_t> unreported_bytes{0};
  std::atomic<int64_t> allocations{0};
};

namespace {

// What the allocators of all devices share. One lock: it is taken for batches of small blocks and for large
// ones.
struct Shared {
  std::mutex mutex;
  int64_t cached_bytes = 0, reserved_bytes = 0;
  int64_t memory_limit, cache_limit;
  std::vector<CachingAllocator::Central*> centrals;

  Shared() {
    memory_limit = usable_memory_bytes();
    cache_limit = std::max<int64_t>(256 << 20, memory_limit / 8);
    // A child gets a whole copy: nobody holds the lock while the process is copied.
    pthread_atfork([] { get().mutex.lock(); }, [] { get().mutex.unlock(); }, [] { get().mutex.unlock(); });
  }
  static Shared& get() {
    static auto* shared = new Shared;  // never destroyed: tensors may outlive every static object
    return *shared;
  }
};

}  // namespace

struct CachingAllocator::Central {
  Shared& shared = Shared::get();
  std::mutex& mutex = shared.mutex;
  const int device;
  FreeList small[kSmallClasses];
  char *slab = nullptr, *slab_end = nullptr;
  std::vector<void*> large[kClasses];
  std::unordered_map<void*, int>
      lent;  // the classes of blocks in use that are of a larger one than was asked for
  std::vector<ThreadCache*> threads;
  int64_t cached_bytes = 0, reserved_bytes = 0;
  int64_t finished_allocations = 0;  // by threads that ended
  std::atomic<int64_t> allocated_bytes{0}, peak_bytes{0}, large_allocations{0};

  explicit Central(int device) : device(device) {
    std::lock_guard lock(mutex);
    shared.centrals.push_back(this);
  }

  void report(int64_t change) {
    int64_t now = allocated_bytes.fetch_add(change, std::memory_order_relaxed) + change;
    int64_t peak = peak_bytes.load(std::memory_order_relaxed);
    while (now > peak && !peak_bytes.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
  }

  [[noreturn]] void throw_out_of_memory(size_t size_bytes) {
    TW_FAIL(kOutOfMemory, "out of memory: ", in_words(static_cast<double>(size_bytes)), " are wanted, of ",
            in_words(static_cast<double>(shared.memory_limit)), " this process may use ",
            in_words(static_cast<double>(shared.reserved_bytes)), " are taken");
  }

  // The functions below want the lock held.

  void* map(size_t bytes, size_t wanted_bytes) {
    auto fits = [&] { return shared.reserved_bytes + static_cast<int64_t>(bytes) <= shared.memory_limit; };
    if (!fits()) release_all_cached();
    void* data = fits() ? map_block(bytes) : nullptr;
    if (!data && shared.cached_bytes > 0) {
      release_all_cached();
      data = map_block(bytes);
    }
    if (!data) throw_out_of_memory(wanted_bytes);
    count_reserved(static_cast<int64_t>(bytes));
    return data;
  }

  void count_reserved(int64_t change) {
    reserved_bytes += change;
    shared.reserved_bytes += change;
  }
  void count_cached(int64_t change) {
    cached_bytes += change;
    shared.cached_bytes += change;
  }

  void release(void* data, size_t bytes) {
    ASAN_UNPOISON_MEMORY_REGION(data, bytes);
    munmap(data, bytes);
    count_reserved(-static_cast<int64_t>(bytes));
  }

  void release_cached() {
    for (int c = 0; c < kClasses; c++) {
      for (void* data : large[c]) release(data, mapped_bytes(class_bytes(c)));
      large[c].clear();
    }
    count_cached(-cached_bytes);
  }
  void release_all_cached() {
    for (Central* central : shared.centrals) central->release_cached();
  }

  // A cached block of class c or, before the process grows, of one a little larger; its class, or -1.
  int take_cached(int c, void** data) {
    int last = std::min(for_long ? c : c + kLendableSteps, kClasses - 1);
    for (int candidate = c; candidate <= last; candidate++) {
      if (large[candidate].empty()) continue;
      *data = large[candidate].back();
      large[candidate].pop_back();
      count_cached(-static_cast<int64_t>(mapped_bytes(class_bytes(candidate))));
      if (candidate != c) lent[*data] = candidate;
      return candidate;
    }
    return -1;
  }

  // The class of a large block that was asked for as one of class c.
  int take_back(void* data, int c) {
    auto found = lent.find(data);
    if (found == lent.end()) return c;
    c = found->second;
    lent.erase(found);
    return c;
  }

  // Moves a batch of blocks into an empty list, cutting them from a slab where there are none.
  void refill(int c, FreeList& list) {
    size_t bytes = class_bytes(c);
    for (unsigned i = batch_of(c); i > 0; i--) {
      if (small[c].head) {
        list.push(small[c].pop());
        continue;
      }
      if (static_cast<size_t>(slab_end - slab) < bytes) {
        if (list.count > 0) return;  // one is enough to go on
        slab = static_cast<char*>(map(kSlabBytes, bytes));
        slab_end = slab + kSlabBytes;
      }
      list.push(slab);
      slab += bytes;
    }
  }

  void flush(int c, FreeList& list, unsigned keep) {
    while (list.count > keep) small[c].push(list.pop());
  }
};

namespace {

using Central = CachingAllocator::Central;

enum class CacheState : uint8_t { kNone, kAlive, kEnded };

// Initial-exec: reached by one instruction, also from a library loaded at run time.
thread_local ThreadCache* thread_cache __attribute__((tls_model("initial-exec"))) = nullptr;  // of device 0
thread_local ThreadCache** further_caches __attribute__((tls_model("initial-exec"))) = nullptr;  // by device
thread_local CacheState cache_state __attribute__((tls_model("initial-exec"))) = CacheState::kNone;

void end_cache(Central& central, ThreadCache* cache) {
  std::lock_guard lock(central.mutex);
  for (int c = 0; c < kSmallClasses; c++) central.flush(c, cache->lists[c], 0);
  central.report(cache->unreported_bytes.load(std::memory_order_relaxed));
  central.finished_allocations += cache->allocations.load(std::memory_order_relaxed);
  std::erase(central.threads, cache);
  delete cache;
}

// Ends the thread's caches with the thread. It holds no more than a pointer: the loader has little room for
// the thread-local data of libraries that come late.
struct CacheHolder {
  Central** centrals = nullptr;  // of the caches, by device
  ~CacheHolder() {
    for (int device = 0; centrals && device < CachingAllocator::kMaxDevices; device++)
      if (centrals[device]) end_cache(*centrals[device], device == 0 ? thread_cache : further_caches[device]);
    delete[] centrals;
    delete[] further_caches;
    thread_cache = nullptr;
    further_caches = nullptr;
    cache_state = CacheState::kEnded;
  }
};
thread_local CacheHolder cache_holder;

ThreadCache* make_cache(Central& central) {
  constexpr int kMaxDevices = CachingAllocator::kMaxDevices;
  auto* cache = new ThreadCache;
  {
    std::lock_guard lock(central.mutex);
    central.threads.push_back(cache);
  }
  if (!cache_holder.centrals) cache_holder.centrals = new Central* [kMaxDevices] {};
  cache_holder.centrals[central.device] = &central;
  cache_state = CacheState::kAlive;
  if (central.device > 0 && !further_caches) further_caches = new ThreadCache* [kMaxDevices] {};
  (central.device == 0 ? thread_cache : further_caches[central.device]) = cache;
  return cache;
}

// Runs `body` with this thread's cache, or with a passing one in the last moments of a thread.
template <class Body>
auto with_cache(Central& central, Body body) {
  ThreadCache* cache = thread_cache;
  if (central.device != 0) [[unlikely]]
    cache = further_caches ? further_caches[central.device] : nullptr;
  if (cache) [[likely]]
    return body(*cache);
  if (cache_state != CacheState::kEnded) return body(*make_cache(central));
  struct Passing {
    Central& central;
    ThreadCache* cache;
    ~Passing() { end_cache(central, cache); }
  } passing{central, new ThreadCache};
  return body(*passing.cache);
}

void count_bytes(Central& central, ThreadCache& cache, int64_t change) {
  int64_t bytes = cache.unreported_bytes.load(std::memory_order_relaxed) + change;
  if (bytes >= kReportBytes || bytes <= -kReportBytes) [[unlikely]] {
    central.report(bytes);
    bytes = 0;
  }
  cache.unreported_bytes.store(bytes, std::memory_order_relaxed);
}

void* allocate_small(Central& central, int c) {
  return with_cache(central, [&](ThreadCache& cache) {
    FreeList& list = cache.lists[c];
    if (!list.head) [[unlikely]] {
      std::lock_guard lock(central.mutex);
      central.refill(c, list);
    }
    void* data = list.pop();
    cache.allocations.store(cache.allocations.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    count_bytes(central, cache, static_cast<int64_t>(class_bytes(c)));
    return data;
  });
}

void free_small(Central& central, void* data, int c) {
  with_cache(central, [&](ThreadCache& cache) {
    FreeList& list = cache.lists[c];
    list.push(data);
    count_bytes(central, cache, -static_cast<int64_t>(class_bytes(c)));
    if (list.count >= 128 && list.count >= 4 * batch_of(c)) [[unlikely]] {
      std::lock_guard lock(central.mutex);
      central.flush(c, list, list.count / 2);
    }
  });
}

void* allocate_large(Central& central, int c, size_t size_bytes) {
  void* data;
  int taken;
  {
    std::lock_guard lock(central.mutex);
    taken = central.take_cached(c, &data);
    if (taken < 0) data = central.map(mapped_bytes(class_bytes(c)), size_bytes);
  }
  central.large_allocations.fetch_add(1, std::memory_order_relaxed);
  central.report(static_cast<int64_t>(mapped_bytes(class_bytes(taken < 0 ? c : taken))));
  return data;
}

void free_large(Central& central, void* data, int c) {
  std::lock_guard lock(central.mutex);
  c = central.take_back(data, c);
  size_t bytes = mapped_bytes(class_bytes(c));
  central.report(-static_cast<int64_t>(bytes));
  if (central.shared.cached_bytes + static_cast<int64_t>(bytes) > central.shared.cache_limit)
    return central.release(data, bytes);
  central.large[c].push_back(data);
  central.count_cached(static_cast<int64_t>(bytes));
}

}  // namespace

bool allocate_for_long(bool on) { return std::exchange(for_long, on); }

CachingAllocator::CachingAllocator(int device) : central_(new Central(device)) {}

CachingAllocator& CachingAllocator::of(int device) {
  static std::atomic<CachingAllocator*> table[kMaxDevices];
  TW_CHECK(device >= 0 && device < kMaxDevices, kDevice, "a device of the CPU below ", kMaxDevices,
           " is wanted, got ", device);
  CachingAllocator* allocator = table[device].load(std::memory_order_acquire);
  if (allocator) [[likely]]
    return *allocator;
  static std::mutex making;
  std::lock_guard lock(making);
  if (!table[device]) table[device].store(new CachingAllocator(device), std::memory_order_release);
  return *table[device];
}

void* CachingAllocator::allocate(size_t size_bytes) {
  void* data;
  if (size_bytes <= kSmallLimit) {
    data = allocate_small(*central_, size_class(size_bytes));
  } else {
    if (size_bytes > static_cast<size_t>(central_->shared.memory_limit)) {
      std::lock_guard lock(central_->mutex);
      central_->throw_out_of_memory(size_bytes);
    }
    data = allocate_large(*central_, size_class(size_bytes), size_bytes);
  }
  ASAN_UNPOISON_MEMORY_REGION(data, size_bytes);
  return data;
}

void CachingAllocator::free(void* data, size_t size_bytes) {
  int c = size_class(size_bytes);
  ASAN_POISON_MEMORY_REGION(static_cast<char*>(data) + sizeof(FreeBlock), class_bytes(c) - sizeof(FreeBlock));
  ASAN_UNPOISON_MEMORY_REGION(data, sizeof(FreeBlock));
  if (size_bytes <= kSmallLimit)
    free_small(*central_, data, c);
  else
    free_large(*central_, data, c);
}

MemoryStats CachingAllocator::stats() {
  std::lock_guard lock(central_->mutex);
  MemoryStats stats;
  stats.allocated_bytes = central_->allocated_bytes.load(std::memory_order_relaxed);
  stats.allocation_count =
      central_->finished_allocations + central_->large_allocations.load(std::memory_order_relaxed);
  for (ThreadCache* cache : central_->threads) {
    stats.allocated_bytes += cache->unreported_bytes.load(std::memory_order_relaxed);
    stats.allocation_count += cache->allocations.load(std::memory_order_relaxed);
  }
  stats.peak_allocated_bytes =
      std::max(central_->peak_bytes.load(std::memory_order_relaxed), stats.allocated_bytes);
  stats.reserved_bytes = central_->reserved_bytes;
  return stats;
}

void CachingAllocator::reset_peak() {
  central_->peak_bytes.store(stats().allocated_bytes, std::memory_order_relaxed);
}

void CachingAllocator::empty_cache() {
  std::lock_guard lock(central_->mutex);
  central_->release_cached();
}

}  // namespace tw::device

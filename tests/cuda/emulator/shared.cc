#include "tests/cuda/emulator/shared.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "base/cat.h"
#include "cuda/common/barrier.h"
#include "tests/cuda/emulator/block.h"

namespace tw::cuda::emulator {

namespace {

constexpr int kNobody = -1, kSeveral = -2;  // threads; kSeveral: lanes of one warp
constexpr int kWarps = -3;                  // threads of several warps
constexpr size_t kGuard = 64;               // bytes between arrays, which nobody may touch

// Who touched a byte last, and at which barriers' counts.
struct Touch {
  int thread = kNobody;
  int warp = kNobody;
  uint32_t block_epoch = 0, warp_epoch = 0;
};

struct Cell {
  Touch write, read;
  bool owned = false;    // part of an array
  bool set = false;      // written since the block began
  bool atomic = false;   // the last write was
  bool filling = false;  // an asynchronous copy of the last writer goes on
  int fill = -1;         // the copy of a tile that it came by
};

struct Fill {
  size_t begin, size_bytes;
  const void* barrier;
  uint32_t phase;
  std::vector<uint32_t> readers;  // by warp: the time of its first lane when it read last
};

struct Array {
  const void* key;
  size_t begin, size_bytes;
};

constexpr size_t kArena = kSharedBytes + 64 * kGuard;
alignas(1024) char g_arena[kArena];
Cell g_cells[kArena];
std::vector<Array> g_arrays;
std::vector<Fill> g_fills;
size_t g_used = 0, g_static_bytes = 0, g_dynamic_bytes = 0;

void* add_array(const void* key, size_t size_bytes, size_t alignment) {
  size_t begin = (g_used + kGuard + alignment - 1) / alignment * alignment;
  if (begin + size_bytes + kGuard > kArena) fail("more shared memory than a block may have");
  g_used = begin + size_bytes;
  for (size_t i = begin; i < g_used; i++) g_cells[i].owned = true;
  std::memset(g_arena + begin, 0xCB, size_bytes);
  g_arrays.push_back({key, begin, size_bytes});
  return g_arena + begin;
}

// Whether `now` is ordered after `touch` by a barrier, or of the same thread.
bool after(const Touch& touch, const Order& now) {
  if (touch.thread == kNobody || touch.block_epoch != now.block_epoch || touch.thread == now.thread)
    return true;
  return touch.thread != kWarps && touch.warp == now.thread / kWarp && touch.warp_epoch != now.warp_epoch;
}

// What products read of a tile is over for those who have waited for the readers' arrivals.
void check_readers(const Fill& fill) {
  for (size_t warp = 0; warp < fill.readers.size(); warp++)
    if (known_time(static_cast<int>(warp) * kWarp) < fill.readers[warp])
      fail(cat("copies a tile over one that warp ", warp, " may still multiply with"));
}

void note_read(Touch& read, const Order& now) {
  int warp = now.thread / kWarp;
  bool alone = read.thread == kNobody || read.thread == now.thread || read.block_epoch != now.block_epoch;
  if (alone)
    read = {now.thread, warp, now.block_epoch, now.warp_epoch};
  else if (read.thread == kWarps || read.warp != warp)
    read.thread = kWarps;
  else
    read = {read.warp_epoch == now.warp_epoch ? kSeveral : now.thread, warp, now.block_epoch, now.warp_epoch};
}

// A fill's bytes are there for who has waited for it.
void check_waited(const Cell& cell, const char* verb) {
  if (cell.filling)
    fail(cat(verb, " shared memory that an asynchronous copy fills, which nobody has waited for"));
  const Fill& fill = g_fills[cell.fill];
  if (phases_seen(fill.barrier) <= fill.phase)
    fail(cat(verb, " a tile that a copy has filled, and has not waited for its barrier"));
}

std::string thread_text(const Touch& touch) {
  return touch.thread >= 0 ? cat("thread ", touch.thread) : std::string("another thread");
}

}  // namespace

void begin_shared(size_t dynamic_bytes) {
  for (size_t i = 0; i < g_used; i++) g_cells[i] = Cell();
  g_arrays.clear();
  g_fills.clear();
  g_used = g_static_bytes = 0;
  g_dynamic_bytes = dynamic_bytes;
}

void* shared_array(const void* key, size_t size_bytes, size_t alignment) {
  for (const Array& array : g_arrays)
    if (array.key == key) return g_arena + array.begin;
  g_static_bytes += size_bytes;
  if (g_static_bytes > kStaticSharedBytes) fail("more static shared memory than 48 KiB");
  return add_array(key, size_bytes, alignment < 16 ? 16 : alignment);
}

void* dynamic_shared_array() {
  for (const Array& array : g_arrays)
    if (array.key == &g_dynamic_bytes) return g_arena + array.begin;
  return add_array(&g_dynamic_bytes, g_dynamic_bytes, 128);
}

bool is_shared(const void* data) {
  return static_cast<size_t>(static_cast<const char*>(data) - g_arena) < kArena;
}

void check_shared(const void* data, size_t size_bytes, Access access) {
  size_t begin = static_cast<const char*>(data) - g_arena;
  Order now = order_now();
  for (size_t i = begin; i < begin + size_bytes; i++) {
    Cell& cell = g_cells[i];
    const char* verb = access == Access::kRead ? "reads" : access == Access::kWrite ? "writes" : "updates";
    if (!cell.owned) fail(cat(verb, " ", size_bytes, " bytes outside of every array in shared memory"));
    if (cell.fill >= 0) check_waited(cell, verb);
    if (cell.filling)
      fail(cat(verb, " shared memory that an asynchronous copy of ", thread_text(cell.write),
               " fills, which nobody has waited for"));
    if (access != Access::kWrite && !cell.set)
      fail(cat(verb, " ", size_bytes, " bytes of shared memory that nothing was written to"));
    bool both_atomic = access == Access::kAtomic && cell.atomic;
    if (!both_atomic && !after(cell.write, now))
      fail(cat("races: it ", verb, " shared memory that ", thread_text(cell.write),
               " has written, and no barrier stands between"));
    if (access != Access::kRead && !after(cell.read, now))
      fail(cat("races: it ", verb, " shared memory that ", thread_text(cell.read),
               " has read, and no barrier stands between"));
    if (access == Access::kRead) {
      note_read(cell.read, now);
    } else {
      cell.write = {now.thread, now.thread / kWarp, now.block_epoch, now.warp_epoch};
      cell.set = true;
      cell.fill = -1;
      cell.atomic = access == Access::kAtomic;
    }
  }
}

void begin_fill(const void* data, size_t size_bytes) {
  check_shared(data, size_bytes, Access::kWrite);
  size_t begin = static_cast<const char*>(data) - g_arena;
  for (size_t i = begin; i < begin + size_bytes; i++) g_cells[i].filling = true;
}

void end_fill(const void* data, size_t size_bytes) {
  size_t begin = static_cast<const char*>(data) - g_arena;
  for (size_t i = begin; i < begin + size_bytes; i++) g_cells[i].filling = false;
  check_shared(data, size_bytes, Access::kWrite);
}

int begin_tile(const void* data, size_t size_bytes, const void* barrier, uint32_t phase) {
  size_t begin = static_cast<const char*>(data) - g_arena;
  int number = static_cast<int>(g_fills.size());
  for (size_t i = begin; i < begin + size_bytes; i++) {
    Cell& cell = g_cells[i];
    if (cell.fill < 0)
      check_shared(g_arena + i, 1, Access::kWrite);
    else if (cell.filling)
      fail("copies a tile over one whose copy goes on");
    else if (cell.fill != g_cells[i - 1].fill)
      check_readers(g_fills[cell.fill]);
  }
  for (size_t i = begin; i < begin + size_bytes; i++) {
    g_cells[i] = Cell();
    g_cells[i].owned = g_cells[i].filling = true;
    g_cells[i].fill = number;
  }
  g_fills.push_back({begin, size_bytes, barrier, phase, {}});
  return number;
}

void end_tile(int fill) {
  const Fill& ended = g_fills[fill];
  for (size_t i = ended.begin; i < ended.begin + ended.size_bytes; i++) {
    g_cells[i].filling = false;
    g_cells[i].set = true;
  }
}

void check_tile_read(const void* data, size_t size_bytes) {
  const Cell& cell = g_cells[static_cast<const char*>(data) - g_arena];
  if (cell.fill < 0) return check_shared(data, size_bytes, Access::kRead);
  check_waited(cell, "multiplies");
  size_t warp = g_now.thread.x / kWarp;
  std::vector<uint32_t>& readers = g_fills[cell.fill].readers;
  if (readers.size() <= warp) readers.resize(warp + 1);
  readers[warp] = time_of(static_cast<int>(warp) * kWarp);
}

uint32_t shared_offset(const void* data) {
  if (!is_shared(data)) fail("takes an address outside of shared memory for one of a tile");
  return static_cast<uint32_t>(static_cast<const char*>(data) - g_arena);
}

const char* shared_at(uint32_t offset) { return g_arena + offset; }

}  // namespace tw::cuda::emulator

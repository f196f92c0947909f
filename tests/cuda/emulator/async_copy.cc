#include "tests/cuda/emulator/async_copy.h"

#include <cstring>
#include <deque>
#include <vector>

#include "base/cat.h"
#include "tests/cuda/emulator/access.h"
#include "tests/cuda/emulator/block.h"
#include "tests/cuda/emulator/memory.h"
#include "tests/cuda/emulator/shared.h"

namespace tw::cuda::emulator {

namespace {

struct Copy {
  void* to;
  const void* from;  // null: zeros
  size_t size_bytes;
};
using Group = std::vector<Copy>;

struct Copies {
  Group begun;
  std::deque<Group> groups;  // oldest first
};
std::vector<Copies> g_copies;  // of each thread of the block

Copies& own_copies() { return g_copies[g_now.thread.x]; }

}  // namespace

void begin_copy(void* to, const void* from, size_t size_bytes, bool read) {
  check_alignment(to, size_bytes);
  if (!is_shared(to)) fail(cat("copies asynchronously to an address outside of shared memory"));
  if (read) {
    check_alignment(from, size_bytes);
    if (!g_region.holds(from)) fail(cat("copies asynchronously from memory that is not the device's"));
    check_read(from, size_bytes);
  }
  begin_fill(to, size_bytes);
  own_copies().begun.push_back({to, read ? from : nullptr, size_bytes});
}

void commit_copies() {
  Copies& own = own_copies();
  own.groups.push_back(std::move(own.begun));
  own.begun.clear();
}

void wait_for_copies(int left) {
  Copies& own = own_copies();
  for (; own.groups.size() > static_cast<size_t>(left); own.groups.pop_front())
    for (const Copy& copy : own.groups.front()) {
      end_fill(copy.to, copy.size_bytes);
      if (copy.from)
        std::memcpy(copy.to, copy.from, copy.size_bytes);
      else
        std::memset(copy.to, 0, copy.size_bytes);
    }
}

void begin_copies(unsigned threads) { g_copies.assign(threads, Copies()); }

void check_copies_ended() {
  const Copies& own = own_copies();
  size_t count = own.begun.size();
  for (const Group& group : own.groups) count += group.size();
  if (count) fail(cat("returns while ", count, " of its asynchronous copies go on"));
}

}  // namespace tw::cuda::emulator

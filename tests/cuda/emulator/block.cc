#include "tests/cuda/emulator/block.h"

#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "base/cat.h"
#include "cuda/common/group_product.h"
#include "tests/cuda/emulator/async_copy.h"
#include "tests/cuda/emulator/fiber.h"
#include "tests/cuda/emulator/graphs.h"
#include "tests/cuda/emulator/memory.h"
#include "tests/cuda/emulator/mma.h"
#include "tests/cuda/emulator/runtime.h"
#include "tests/cuda/emulator/shared.h"

namespace tw::cuda::emulator {

namespace {

constexpr int kMostThreads = 1024;
constexpr size_t kStackBytes = 64 << 10;

enum class State : uint8_t { kReady, kWaiting, kDone };

struct Thread {
  Fiber fiber;
  State state = State::kReady;
  Wait wait = Wait::kBlock;
  std::source_location where;
  bool (*met)(const void*) = nullptr;  // of kUntil
  const void* subject = nullptr;
};

struct Warp {
  uint32_t epoch = 0;
  uint32_t exchanges = 0;
  // Of this exchange and the one before, which slow lanes may still read.
  uint64_t values[2][kWarp];
  Words words[2][kWarp];
};

// The launch that runs; one at a time in the process.
struct Launch {
  Shape shape;
  Entry entry;
  const char* arguments;
  size_t argument_bytes;
  const char* stack_begin = nullptr;  // of the thread that runs
};

std::mutex g_launch_mutex;
Launch g_launch;
std::vector<Thread> g_threads;
std::vector<Warp> g_warps;
uint32_t g_block_epoch = 0;
int g_current = 0;
std::string g_fault;
bool g_failed = false;
unsigned g_largest_block = 0;

char* stacks() {
  static char* data = static_cast<char*>(mmap(nullptr, kMostThreads * kStackBytes, PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  return data;
}

// Whether some loaded program or library holds the address, as a constant or a variable.
bool in_an_image(const char* at) {
  static const char *begin = nullptr, *end = nullptr;  // where the last one was found
  if (at >= begin && at < end) return true;
  return dl_iterate_phdr(
             [](dl_phdr_info* info, size_t, void* wanted) {
               for (int i = 0; i < info->dlpi_phnum; i++) {
                 const auto& part = info->dlpi_phdr[i];
                 const auto* from = reinterpret_cast<const char*>(info->dlpi_addr + part.p_vaddr);
                 if (part.p_type != PT_LOAD || wanted < from || wanted >= from + part.p_memsz) continue;
                 begin = from;
                 end = from + part.p_memsz;
                 return 1;
               }
               return 0;
             },
             const_cast<char*>(at)) != 0;
}

void run_thread() {
  g_launch.entry(g_launch.arguments);
  check_copies_ended();
  check_products_ended();
  Thread& self = g_threads[g_current];
  self.state = State::kDone;
  Fiber::leave(self.fiber);
}

void enter(int thread) {
  g_current = thread;
  g_now.thread = {static_cast<unsigned>(thread), 0, 0};
  g_launch.stack_begin = stacks() + static_cast<size_t>(thread) * kStackBytes;
  g_now.running = true;
  g_threads[thread].fiber.resume();
  g_now.running = false;
}

bool same_place(const std::source_location& a, const std::source_location& b) {
  return a.line() == b.line() && std::strcmp(a.file_name(), b.file_name()) == 0;
}

std::string place_text(const std::source_location& where) {
  const char* slash = std::strrchr(where.file_name(), '/');
  return cat(slash ? slash + 1 : where.file_name(), ":", where.line());
}

void fault_between(int a, int b, const char* what) {
  g_failed = true;
  g_fault = cat(what, ": thread ", a, " waits at ", place_text(g_threads[a].where), ", thread ", b,
                g_threads[b].state == State::kDone ? std::string(" has returned")
                                                   : cat(" at ", place_text(g_threads[b].where)));
}

// Lets threads [first, last) go on if all of them wait for each other in one place; a fault if some never
// will.
bool release(int first, int last, Wait kind) {
  bool all_done = true;
  for (int i = first; i < last; i++) all_done &= g_threads[i].state == State::kDone;
  if (all_done) return false;
  for (int i = first; i < last; i++) {
    const Thread &begin = g_threads[first], &other = g_threads[i];
    if (other.state != State::kWaiting || other.wait != kind || begin.state != State::kWaiting ||
        begin.wait != kind || !same_place(begin.where, other.where))
      return false;
  }
  for (int i = first; i < last; i++) g_threads[i].state = State::kReady;
  return true;
}

// Two threads that keep each other from going on.
void find_deadlock() {
  int waiting = -1;
  for (int i = 0; i < static_cast<int>(g_threads.size()); i++)
    if (g_threads[i].state == State::kWaiting) {
      waiting = i;
      break;
    }
  const Thread& self = g_threads[waiting];
  if (self.wait == Wait::kUntil) {
    g_failed = true;
    g_fault = cat("thread ", waiting, " waits at ", place_text(self.where), " for a phase that never ends");
    return;
  }
  bool block = self.wait == Wait::kBlock;
  int first = block ? 0 : waiting / kWarp * kWarp;
  int last = block ? static_cast<int>(g_threads.size()) : first + kWarp;
  for (int i = first; i < last; i++) {
    const Thread& other = g_threads[i];
    if (other.state == State::kDone)
      return fault_between(
          waiting, i, block ? "a thread returned before a barrier" : "a lane returned before a warp call");
    if (other.wait != self.wait)
      return fault_between(waiting, i, "threads wait for each other in different calls");
    if (!same_place(other.where, self.where))
      return fault_between(waiting, i,
                           block ? "threads stand at different barriers" : "lanes stand at different calls");
  }
  // All threads of the block that wait like the first one stand in one place: another warp keeps them.
  for (int i = 0; i < static_cast<int>(g_threads.size()); i++)
    if (g_threads[i].state == State::kWaiting && g_threads[i].wait != self.wait)
      return fault_between(waiting, i, "threads wait for each other in different calls");
  fault_between(waiting, waiting, "no thread can go on");
}

bool release_some() {
  bool any = false;
  int count = static_cast<int>(g_threads.size());
  for (Thread& thread : g_threads)
    if (thread.state == State::kWaiting && thread.wait == Wait::kUntil && thread.met(thread.subject)) {
      thread.state = State::kReady;
      any = true;
    }
  for (int first = 0; first < count; first += kWarp) {
    if (release(first, first + kWarp, Wait::kWarp)) {
      g_warps[first / kWarp].epoch++;
      any = true;
    } else if (release(first, first + kWarp, Wait::kExchange)) {
      g_warps[first / kWarp].exchanges++;
      any = true;
    }
  }
  if (!any && release(0, count, Wait::kBlock)) {
    g_block_epoch++;
    any = true;
  }
  return any || end_a_copy();
}

void run_block(unsigned block) {
  g_now.block = {block, 0, 0};
  begin_shared(g_launch.shape.shared_bytes);
  begin_copies(g_launch.shape.threads);
  begin_barriers(g_launch.shape.threads);
  begin_products(g_launch.shape.threads);
  g_block_epoch++;
  for (size_t i = 0; i < g_threads.size(); i++) {
    g_threads[i].state = State::kReady;
    g_threads[i].fiber.start(stacks() + i * kStackBytes, kStackBytes, run_thread);
  }
  for (bool done = false; !done && !g_failed;) {
    done = true;
    for (size_t i = 0; i < g_threads.size() && !g_failed; i++) {
      if (g_threads[i].state == State::kReady) enter(static_cast<int>(i));
      done &= g_threads[i].state == State::kDone;
    }
    if (!done && !g_failed && !release_some()) find_deadlock();
  }
  if (g_failed) return;
  g_fault = fault_of_groups();
  g_failed = !g_fault.empty();
}

}  // namespace

Now g_now;

void run(Shape shape, Entry entry, const void* arguments, size_t argument_bytes) {
  if (capturing()) {
    const auto* bytes = static_cast<const char*>(arguments);
    const void* kernel = *static_cast<const void* const*>(arguments);  // what device.h puts first
    keep(kernel, [=, copy = std::vector<char>(bytes, bytes + argument_bytes)] {
      run(shape, entry, copy.data(), argument_bytes);
    });
    return;
  }
  std::lock_guard lock(g_launch_mutex);
  if (shape.threads == 0 || shape.threads > kMostThreads || shape.threads % kWarp != 0 ||
      shape.shared_bytes > kSharedBytes) {
    g_fault = cat("blocks of ", shape.threads, " threads with ", shape.shared_bytes,
                  " bytes of shared memory cannot be launched");
    return;
  }
  DeviceAccess access;
  g_launch = {shape, entry, static_cast<const char*>(arguments), argument_bytes};
  g_largest_block = std::max(g_largest_block, shape.threads);
  cudaGetDevice(&g_now.device);
  g_now.block_size = {shape.threads, 1, 1};
  g_now.grid_size = {shape.blocks, 1, 1};
  g_threads.resize(shape.threads);
  g_warps.assign(shape.threads / kWarp, Warp());
  g_failed = false;
  for (unsigned block = 0; block < shape.blocks && !g_failed; block++) run_block(block);
}

unsigned take_largest_block() { return std::exchange(g_largest_block, 0); }

std::string take_fault() { return std::exchange(g_fault, {}); }

void fail(const std::string& what) {
  g_now.running = false;
  if (!g_failed) g_fault = cat("thread ", g_current, " of block ", g_now.block.x, " ", what);
  g_failed = true;
  Fiber::leave(g_threads[g_current].fiber);
  __builtin_unreachable();
}

void fail(const char* what) {
  g_now.running = false;  // making the string is none of the kernel's accesses
  fail(std::string(what));
}

void wait(Wait kind, std::source_location where) {
  Thread& self = g_threads[g_current];
  self.state = State::kWaiting;
  self.wait = kind;
  self.where = where;
  Fiber::leave(self.fiber);
}

void wait_until(bool (*met)(const void*), const void* subject, std::source_location where) {
  Thread& self = g_threads[g_current];
  self.met = met;
  self.subject = subject;
  if (!met(subject)) wait(Wait::kUntil, where);
}

const uint64_t* exchange(uint64_t value, unsigned mask, std::source_location where) {
  if (mask != 0xffffffffu)
    fail(cat("calls ", place_text(where),
             " with a mask that is not full: all lanes of a warp must take part"));
  Warp& warp = g_warps[g_current / kWarp];
  uint64_t* values = warp.values[warp.exchanges & 1];
  values[g_current % kWarp] = value;
  wait(Wait::kExchange, where);
  return values;
}

const Words* exchange_words(const Words& words, std::source_location where) {
  Warp& warp = g_warps[g_current / kWarp];
  Words* of_lanes = warp.words[warp.exchanges & 1];
  of_lanes[g_current % kWarp] = words;
  wait(Wait::kExchange, where);
  return of_lanes;
}

Order order_now() { return {g_current, g_block_epoch, g_warps[g_current / kWarp].epoch}; }

bool is_own_memory(const void* data) {
  const char* at = static_cast<const char*>(data);
  if (static_cast<size_t>(at - g_launch.stack_begin) < kStackBytes) return true;
  if (static_cast<size_t>(at - g_launch.arguments) < g_launch.argument_bytes) return true;
  return static_cast<size_t>(at - reinterpret_cast<const char*>(&g_now)) < sizeof(g_now) || in_an_image(at);
}

}  // namespace tw::cuda::emulator

#include <cstdint>
#include <cstring>

#include "base/cat.h"
#include "tests/cuda/emulator/access.h"
#include "tests/cuda/emulator/block.h"
#include "tests/cuda/emulator/memory.h"
#include "tests/cuda/emulator/mma.h"
#include "tests/cuda/emulator/shared.h"

namespace tw::cuda::emulator {

namespace {

bool all_are(const ByteState* states, size_t size_bytes, ByteState least) {
  for (size_t i = 0; i < size_bytes; i++)
    if (states[i] < least) return false;
  return true;
}

// The usual case in one comparison.
bool all_set(const ByteState* states, size_t size_bytes) {
  if (size_bytes != 4) return all_are(states, size_bytes, ByteState::kSet);
  uint32_t four;
  std::memcpy(&four, states, 4);
  return four == 0x02020202u;
}

[[gnu::noinline]] void fail_on_device(const void* data, size_t size_bytes, const char* verb) {
  if (g_region.device_of(data) != g_now.device)
    fail(cat(verb, " memory of device ", g_region.device_of(data), " on device ", g_now.device));
  const ByteState* states = g_region.states_of(data);
  size_t bad = 0;
  while (bad < size_bytes && states[bad] != ByteState::kFree) bad++;
  if (bad < size_bytes)
    fail(cat(verb, " ", size_bytes,
             " bytes of device memory that are nobody's: ", place_of(static_cast<const char*>(data) + bad)));
  fail(cat(verb, " ", size_bytes, " bytes of device memory that nothing was written to: ", place_of(data)));
}

void check_elsewhere(const void* data, size_t size_bytes, Access access) {
  if (is_shared(data)) return check_shared(data, size_bytes, access);
  if (!is_own_memory(data) && !is_mapped_host(data))
    fail(cat("touches ", size_bytes, " bytes of the host's memory"));
}

}  // namespace

void check_alignment(const void* data, size_t size_bytes) {
  if (g_now.running && reinterpret_cast<uintptr_t>(data) % size_bytes != 0)
    fail(cat("accesses ", size_bytes, " bytes at an address that is no multiple of them"));
}

void check_read(const void* data, size_t size_bytes) {
  if (!g_now.running) return;
  if (!g_region.holds(data)) return check_elsewhere(data, size_bytes, Access::kRead);
  bool here = g_region.device_of(data) == g_now.device;
  if (!here || !all_set(g_region.states_of(data), size_bytes)) fail_on_device(data, size_bytes, "reads");
}

void check_write(const void* data, size_t size_bytes) {
  if (!g_now.running) return;
  if (!g_region.holds(data)) return check_elsewhere(data, size_bytes, Access::kWrite);
  ByteState* states = g_region.states_of(data);
  bool here = g_region.device_of(data) == g_now.device;
  if (here && all_set(states, size_bytes)) return;
  if (!here || !all_are(states, size_bytes, ByteState::kUnset)) fail_on_device(data, size_bytes, "writes");
  for (size_t i = 0; i < size_bytes; i++) states[i] = ByteState::kSet;
}

void check_atomic(const void* data, size_t size_bytes) {
  if (g_region.holds(data)) return check_read(data, size_bytes);
  if (is_shared(data)) return check_shared(data, size_bytes, Access::kAtomic);
  fail("updates memory atomically that is neither the device's nor shared");
}

void check_matrix_read(const void* data, size_t size_bytes) {
  if (!is_shared(data)) fail(cat("loads a matrix from an address outside of shared memory"));
  check_shared(data, size_bytes, Access::kRead);
}

}  // namespace tw::cuda::emulator

// The names that the compiler calls.
using tw::cuda::emulator::check_alignment;
using tw::cuda::emulator::check_read;
using tw::cuda::emulator::check_write;

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void* data, unsigned long size) { check_read(data, size); }
void __tsan_write_range(void* data, unsigned long size) { check_write(data, size); }

#define TW_HOOKS(N)                                                    \
  void __tsan_read##N(void* data) {                                    \
    check_alignment(data, N);                                          \
    check_read(data, N);                                               \
  }                                                                    \
  void __tsan_write##N(void* data) {                                   \
    check_alignment(data, N);                                          \
    check_write(data, N);                                              \
  }                                                                    \
  void __tsan_unaligned_read##N(void* data) { check_read(data, N); }   \
  void __tsan_unaligned_write##N(void* data) { check_write(data, N); } \
  void __tsan_volatile_read##N(void* data) { check_read(data, N); }    \
  void __tsan_volatile_write##N(void* data) { check_write(data, N); }

TW_HOOKS(1)
TW_HOOKS(2)
TW_HOOKS(4)
TW_HOOKS(8)
TW_HOOKS(16)

// Atomics are the host's: reference counts, and guards of static variables.
#define TW_ATOMICS(BITS, T)                                                                                 \
  T __tsan_atomic##BITS##_load(const volatile T* at, int) { return __atomic_load_n(at, __ATOMIC_SEQ_CST); } \
  void __tsan_atomic##BITS##_store(volatile T* at, T value, int) {                                          \
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                          \
  }                                                                                                         \
  T __tsan_atomic##BITS##_exchange(volatile T* at, T value, int) {                                          \
    return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                                \
  }                                                                                                         \
  T __tsan_atomic##BITS##_fetch_add(volatile T* at, T value, int) {                                         \
    return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);                                                 \
  }                                                                                                         \
  T __tsan_atomic##BITS##_fetch_sub(volatile T* at, T value, int) {                                         \
    return __atomic_fetch_sub(at, value, __ATOMIC_SEQ_CST);                                                 \
  }

TW_ATOMICS(8, uint8_t)
TW_ATOMICS(32, uint32_t)
TW_ATOMICS(64, uint64_t)

}  // extern "C"

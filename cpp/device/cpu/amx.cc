#include "device/cpu/amx.h"

#ifdef TW_HAS_AMX
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tw::device::amx {

#ifdef TW_HAS_AMX

namespace {

bool processor_has_tiles() {
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  constexpr unsigned bfloat16 = 1u << 22, tiles = 1u << 24;
  return (d & bfloat16) && (d & tiles) && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

// Tile registers enlarge what the kernel saves of a thread, so a process has to ask for them. It holds for
// all of its threads and for its children.
bool kernel_permits_tiles() {
  constexpr int request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

}  // namespace

bool available() {
  static const bool result = processor_has_tiles() && kernel_permits_tiles();
  return result;
}

#else

bool available() { return false; }

#endif

}  // namespace tw::device::amx

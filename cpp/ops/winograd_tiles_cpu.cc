#include "ops/winograd_tiles_cpu.h"

namespace tw::ops {

const WinogradTiles* winograd_tiles() {
#if defined(__x86_64__)
  static const WinogradTiles* const tiles = __builtin_cpu_supports("x86-64-v4")   ? &kWinogradAvx512
                                            : __builtin_cpu_supports("x86-64-v3") ? &kWinogradAvx2
                                                                                  : nullptr;
  return tiles;
#else
  return nullptr;
#endif
}

}  // namespace tw::ops

#if defined(__x86_64__)

#include <cstdint>

#pragma GCC target("arch=x86-64-v4")
#include "ops/winograd_arithmetic_cpu.h"

namespace tw::ops {

namespace {

struct Avx512 {
  typedef float Vector __attribute__((vector_size(64), aligned(4), may_alias));
};

}  // namespace

const WinogradTiles kWinogradAvx512 = WinogradArithmetic<Avx512, 6, 4>::table(1536 << 10);

}  // namespace tw::ops

#endif

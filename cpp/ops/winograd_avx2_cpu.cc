#if defined(__x86_64__)

#include <cstdint>

#pragma GCC target("arch=x86-64-v3")
#include "ops/winograd_arithmetic_cpu.h"

namespace tw::ops {

namespace {

struct Avx2 {
  typedef float Vector __attribute__((vector_size(32), aligned(4), may_alias));
};

}  // namespace

const WinogradTiles kWinogradAvx2 = WinogradArithmetic<Avx2, 6, 2>::table(384 << 10);

}  // namespace tw::ops

#endif

// Products of tiles in shared memory by a group of 128 threads, on tensor cores (wgmma, of compute capability
// 9.0a): float sums of 64 rows by kColumns columns, which go on while the threads work.
//
//   hold(sums);                          // nobody has touched what products read or write since
//   begin_products();
//   multiply_tiles<T>(sums, a, b, add);  // a: 64 rows, b: kColumns rows, both of 16 inner elements a row
//   multiply_held<T>(sums, a, b);        // a in registers; b: 16 rows of kColumns elements
//   end_products();                      // those since the last call are a batch
//   wait_for_products<0>();              // all batches but the newest 0 are done
//   hold(sums);
//
// All threads of the group take part, in the same order. A warp has 16 of the rows, and each lane the
// elements of mma.h's sums and of its A. Until they are waited for, neither sums nor held factors may be
// touched, nor the tiles written to. tests/cuda/common/group_product_test.cc spells the layouts out.
#pragma once

#include "cuda/common/element.h"
#include "cuda/common/tensor_copy.h"

namespace tw::cuda {

inline constexpr int kGroupThreads = 128, kGroupRows = 64;

// Where a factor lies in shared memory, as an instruction has it (PTX ISA: "Matrix Descriptor Format"); tiles
// are those of tensor_copy.h.
struct TileFactor {
  uint64_t bits;
  // The factor of the following inner elements, or of others, so many bytes further.
  TW_DEVICE TileFactor after(int size_bytes) const { return {bits + static_cast<uint64_t>(size_bytes >> 4)}; }
};

}  // namespace tw::cuda

#ifdef TW_CUDA_EMULATOR
#include "tests/cuda/emulator/group_product.h"
#else

namespace tw::cuda {

// `between`: bytes from a tile to the next one beside it, where the factor is wider than a tile.
TW_DEVICE TileFactor tile_factor(const void* tile, int between) {
  constexpr uint64_t kEightRows = 8 * 128, kSwizzled = 1;
  return {(shared_address(tile) >> 4 & 0x3fff) | static_cast<uint64_t>(between >> 4) << 16 |
          kEightRows >> 4 << 32 | kSwizzled << 62};
}

TW_DEVICE void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
TW_DEVICE void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kLeft>
TW_DEVICE void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}

// Keeps the compiler from moving uses of registers across this place.
template <int kTiles>
TW_DEVICE void hold(float (&sums)[kTiles][4]) {
  TW_UNROLL
  for (int i = 0; i < kTiles * 4; i++) asm volatile("" : "+f"(sums[i / 4][i % 4])::"memory");
}

#define TW_SUMS_4(n) "+f"(sums[n][0]), "+f"(sums[n][1]), "+f"(sums[n][2]), "+f"(sums[n][3])
#define TW_SUMS_16(n) TW_SUMS_4(n), TW_SUMS_4(n + 1), TW_SUMS_4(n + 2), TW_SUMS_4(n + 3)
#define TW_SUMS_32(n) TW_SUMS_16(n), TW_SUMS_16(n + 4)
#define TW_REGISTERS_32                                                     \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define TW_REGISTERS_64                                                              \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "          \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}"

// Factor A and B of an instruction, and whether sums are added to, by the numbers of their operands.
#define TW_PRODUCT(COLUMNS, TYPE, REGISTERS, FACTORS, ADD, TRANSPOSED)                            \
  "{\n.reg .pred add;\nsetp.ne.b32 add, " ADD                                                     \
  ", 0;\n"                                                                                        \
  "wgmma.mma_async.sync.aligned.m64n" COLUMNS "k16.f32." TYPE "." TYPE " " REGISTERS ", " FACTORS \
  ", add, 1, 1, " TRANSPOSED ";\n}"
#define TW_OF_TILES(COLUMNS, TYPE, REGISTERS, A, B, ADD) \
  TW_PRODUCT(COLUMNS, TYPE, REGISTERS, A ", " B, ADD, "0, 0")
#define TW_OF_HELD(COLUMNS, TYPE, REGISTERS, A, B, ADD) \
  TW_PRODUCT(COLUMNS, TYPE, REGISTERS, A ", " B, ADD, "1")

// sums = a bᵀ, added to them with `add`.
template <class T, int kTiles>
TW_DEVICE void multiply_tiles(float (&sums)[kTiles][4], TileFactor a, TileFactor b, bool add) {
  static_assert(is_half_type<T> && (kTiles == 8 || kTiles == 16));
#define TW_MULTIPLY(PRODUCT, ...) \
  asm volatile(PRODUCT : __VA_ARGS__ : "l"(a.bits), "l"(b.bits), "r"(static_cast<int>(add)))
  constexpr bool kHalf = std::is_same_v<T, float16>;
  if constexpr (kTiles == 8 && kHalf)
    TW_MULTIPLY(TW_OF_TILES("64", "f16", TW_REGISTERS_32, "%32", "%33", "%34"), TW_SUMS_32(0));
  else if constexpr (kTiles == 8)
    TW_MULTIPLY(TW_OF_TILES("64", "bf16", TW_REGISTERS_32, "%32", "%33", "%34"), TW_SUMS_32(0));
  else if constexpr (kHalf)
    TW_MULTIPLY(TW_OF_TILES("128", "f16", TW_REGISTERS_64, "%64", "%65", "%66"), TW_SUMS_32(0),
                TW_SUMS_32(8));
  else
    TW_MULTIPLY(TW_OF_TILES("128", "bf16", TW_REGISTERS_64, "%64", "%65", "%66"), TW_SUMS_32(0),
                TW_SUMS_32(8));
#undef TW_MULTIPLY
}

// sums += a b.
template <class T, int kTiles>
TW_DEVICE void multiply_held(float (&sums)[kTiles][4], const uint32_t (&a)[4], TileFactor b) {
  static_assert(is_half_type<T> && (kTiles == 8 || kTiles == 16));
#define TW_MULTIPLY(PRODUCT, ...) \
  asm volatile(PRODUCT : __VA_ARGS__ : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.bits), "r"(1))
  constexpr bool kHalf = std::is_same_v<T, float16>;
  if constexpr (kTiles == 8 && kHalf)
    TW_MULTIPLY(TW_OF_HELD("64", "f16", TW_REGISTERS_32, "{%32, %33, %34, %35}", "%36", "%37"),
                TW_SUMS_32(0));
  else if constexpr (kTiles == 8)
    TW_MULTIPLY(TW_OF_HELD("64", "bf16", TW_REGISTERS_32, "{%32, %33, %34, %35}", "%36", "%37"),
                TW_SUMS_32(0));
  else if constexpr (kHalf)
    TW_MULTIPLY(TW_OF_HELD("128", "f16", TW_REGISTERS_64, "{%64, %65, %66, %67}", "%68", "%69"),
                TW_SUMS_32(0), TW_SUMS_32(8));
  else
    TW_MULTIPLY(TW_OF_HELD("128", "bf16", TW_REGISTERS_64, "{%64, %65, %66, %67}", "%68", "%69"),
                TW_SUMS_32(0), TW_SUMS_32(8));
#undef TW_MULTIPLY
}

// A group's share of the processor's registers; all of its warps call.
template <int kRegisters>
TW_DEVICE void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
TW_DEVICE void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace tw::cuda
#endif

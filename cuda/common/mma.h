// Products of small matrices by a warp, on tensor cores: float sums of half types (mma.sync and ldmatrix, of
// compute capability 8.0 and up). All lanes take part in every call.
//
// A register holds two elements, the lower half first. In a matrix of sums, 16 x 8, element 0 and 1 of a lane
// lie in row lane / 4 and columns lane % 4 * 2 and the next; 2 and 3 eight rows below. The A of a product, 16
// x 16, lies in the same way in two such halves, side by side: registers 0 and 1, then 2 and 3. B, 16 x 8, is
// as its transpose would be. tests/cuda/common/mma_test.cc spells the layouts out.
#pragma once

#include <cstdint>

#include "cuda/common/element.h"
#include "cuda/common/platform.h"

#ifdef TW_CUDA_EMULATOR
#include "tests/cuda/emulator/mma.h"
#define TW_UNROLL_2
#else
// Of a long loop: what it would keep for each step, were it unrolled as a whole, costs more registers.
#define TW_UNROLL_2 _Pragma("unroll 2")

namespace tw::cuda {

// sums += A B.
template <class T>
TW_DEVICE void mma_16x8x16(float (&sums)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  static_assert(is_half_type<T>);
  if constexpr (std::is_same_v<T, float16>)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four matrices of 8 x 8 elements of 2 bytes from shared memory. Lane l gives the address of row l % 8 of
// matrix l / 8, a multiple of 16; register m gets elements lane % 4 * 2 and the next of row lane / 4 of
// matrix m.
TW_DEVICE void load_matrices(uint32_t (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
               : "memory");
}
// The same, of the matrices transposed.
TW_DEVICE void load_matrices_transposed(uint32_t (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
               : "memory");
}

}  // namespace tw::cuda
#endif

namespace tw::cuda {

// Two values, rounded, as a register holds them.
template <class T>
TW_DEVICE uint32_t pack_pair(float low, float high) {
#ifndef TW_CUDA_EMULATOR
  uint32_t pair;
  if constexpr (std::is_same_v<T, float16>)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return store<T>(low).bits | static_cast<uint32_t>(store<T>(high).bits) << 16;
#endif
}

}  // namespace tw::cuda

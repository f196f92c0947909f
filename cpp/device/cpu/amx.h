// The matrix unit of x86-64 (AMX): eight tile registers of 16 rows of 64 bytes, and products of bfloat16
// tiles that are summed in float.
#pragma once

#include <cstdint>

namespace tw::device::amx {

// Whether the processor has the unit with bfloat16 products, and the system lets this process use it.
bool available();

inline constexpr int kTileRows = 16;
inline constexpr int kTileBytes = kTileRows * 64;

}  // namespace tw::device::amx

// TW_AMX marks functions that use tiles: they are compiled for processors that have them and must only be
// called where available(). Lambdas inside do not inherit it.
#if defined(__x86_64__) && defined(__linux__)
#define TW_HAS_AMX 1
#define TW_AMX __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512dq,avx512vl,fma")))
#endif

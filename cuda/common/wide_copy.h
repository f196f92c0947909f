// 16 bytes from shared to global memory by one access of each, which the compiler may split if left to
// itself.
#pragma once

#include "cuda/common/vector.h"

namespace tw::cuda {

// Both addresses are multiples of 16.
TW_DEVICE void copy_wide(void* to, const void* from) {
  auto pack = load_pack<4>(static_cast<const uint32_t*>(from));
#ifndef TW_CUDA_EMULATOR
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)),
               "r"(pack.at[0]), "r"(pack.at[1]), "r"(pack.at[2]), "r"(pack.at[3])
               : "memory");
#else
  store_pack(static_cast<uint32_t*>(to), pack);
#endif
}

}  // namespace tw::cuda

// Accesses of 16 bytes: what a streaming kernel reads and writes at a time.
#pragma once

#include <cstdint>

#include "cuda/common/platform.h"

namespace tw::cuda {

inline constexpr int kVectorBytes = 16;

// kCount elements that move as one access (or as several of 16 bytes).
template <class T, int kCount>
struct alignas(sizeof(T) * kCount < kVectorBytes ? sizeof(T) * kCount : kVectorBytes) Pack {
  T at[kCount];
};

template <int kCount, class T>
TW_DEVICE Pack<T, kCount> load_pack(const T* from) {
  note_wide_access(from, alignof(Pack<T, kCount>));
  return *reinterpret_cast<const Pack<T, kCount>*>(from);
}

template <int kCount, class T>
TW_DEVICE void store_pack(T* to, const Pack<T, kCount>& pack) {
  note_wide_access(to, alignof(Pack<T, kCount>));
  *reinterpret_cast<Pack<T, kCount>*>(to) = pack;
}

// How many elements of `size` bytes an access of 16 bytes holds.
constexpr int pack_count(int size) { return size >= kVectorBytes ? 1 : kVectorBytes / size; }

inline bool is_aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % kVectorBytes == 0; }

}  // namespace tw::cuda

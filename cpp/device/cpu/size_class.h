// The block sizes of the CPU allocator.
#pragma once

#include <bit>
#include <cstddef>

namespace tw::device {

inline constexpr size_t kAlignment = 64;
inline constexpr size_t kLinearLimit = 512;      // multiples of kAlignment up to here
inline constexpr size_t kSmallLimit = 64 << 10;  // the largest small block
inline constexpr int kLinearClasses = kLinearLimit / kAlignment;
inline constexpr int kSmallClasses = kLinearClasses + 4 * 7;  // 7 doublings from 512 to 64 Ki
inline constexpr int kFineFrom = 20;  // eight classes for every power of two from 2^20 on, where waste counts
inline constexpr int kCoarseClasses = kLinearClasses + 4 * (kFineFrom - 9);
inline constexpr int kClasses = kCoarseClasses + 8 * (63 - kFineFrom);  // up to 2^63

// The class of the smallest block that holds size_bytes (at most 2^62).
inline int size_class(size_t size_bytes) {
  size_t last = size_bytes - (size_bytes != 0);
  if (last < kLinearLimit) return static_cast<int>(last / kAlignment);
  int top =
      std::bit_width(last) - 1;  // 2^top <= last < 2^(top + 1); the next two or three bits pick the step
  if (top >= kFineFrom)
    return kCoarseClasses + 8 * (top - kFineFrom) + static_cast<int>(last >> (top - 3) & 7);
  return kLinearClasses + 4 * (top - 9) + static_cast<int>(last >> (top - 2) & 3);
}

inline size_t class_bytes(int size_class) {
  if (size_class < kLinearClasses) return (size_class + size_t{1}) * kAlignment;
  if (size_class >= kCoarseClasses) {
    int fine = size_class - kCoarseClasses;
    return (size_t{9} + fine % 8) << (fine / 8 + kFineFrom - 3);
  }
  int above = size_class - kLinearClasses;
  return (size_t{5} + above % 4) << (above / 4 + 7);
}

}  // namespace tw::device

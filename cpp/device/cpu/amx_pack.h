// Operands of a product as the matrix unit reads them: panels of 32 rows of the left or 32 columns of the
// right one ("outers"), of which each float is split into three bfloat16 that sum to it exactly.
//
// A panel is a sequence of blocks of 32 inner indices; a block holds the three parts, largest first, each two
// tiles of 16 outers. In a tile, inner indices p and p + 16 lie side by side, since that needs no shuffles;
// both operands are packed so, and the order of a sum is free. What is missing to whole tiles is zero.
#pragma once

#include <cstdint>

#include "device/cpu/amx.h"

namespace tw::device::amx {

inline constexpr int kOuters = 32;
inline constexpr int kInners = 32;
inline constexpr int kParts = 3;
inline constexpr int kPartBytes = 2 * kTileBytes;
inline constexpr int kBlockBytes = kParts * kPartBytes;

inline int64_t panel_bytes(int64_t inners) { return (inners + kInners - 1) / kInners * kBlockBytes; }

// The bits, without sign, of the largest magnitude, and of the smallest that the largest element of an outer
// has, outers of zeros apart. NaN and infinities count as largest.
struct Magnitudes {
  uint32_t largest = 0;
  uint32_t smallest_row = ~uint32_t{0};

  void include(const Magnitudes& other) {
    largest = other.largest > largest ? other.largest : largest;
    smallest_row = other.smallest_row < smallest_row ? other.smallest_row : smallest_row;
  }
};

// Element (outer, inner) lies at data[outer * outer_stride + inner * inner_stride]; one of the strides is 1.
struct PanelSource {
  const float* data;
  int64_t outer_stride;
  int64_t inner_stride;
};

// Packs up to 32 outers. The left operand's tiles have an outer a row, the right one's a pair of inners a
// row.
Magnitudes pack_left(const PanelSource& source, int64_t outers, int64_t inners, char* panel);
Magnitudes pack_right(const PanelSource& source, int64_t outers, int64_t inners, char* panel);

}  // namespace tw::device::amx

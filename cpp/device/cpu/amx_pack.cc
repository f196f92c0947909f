#include "device/cpu/amx_pack.h"

#ifdef TW_HAS_AMX

#include <immintrin.h>

#include <algorithm>

namespace tw::device::amx {

namespace {

constexpr int kLanes = 16;

TW_AMX inline __mmask16 first_lanes(int64_t count) {
  return static_cast<__mmask16>((1u << std::clamp<int64_t>(count, 0, kLanes)) - 1);
}

// The three parts of inners p (low) and p + 16 (high), as pairs. Each part is what is left, rounded to the
// eight bits of a bfloat16; what is left is exact, and after three parts nothing is.
TW_AMX inline void split_pairs(__m512i low, __m512i high, __m512i parts[kParts]) {
  const __m512i half = _mm512_set1_epi32(0x8000), mask = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  for (int part = 0; part < kParts; part++) {
    __m512i low_part = _mm512_and_si512(_mm512_add_epi32(low, half), mask);
    __m512i high_part = _mm512_and_si512(_mm512_add_epi32(high, half), mask);
    parts[part] = _mm512_or_si512(_mm512_srli_epi32(low_part, 16), high_part);
    low = _mm512_castps_si512(_mm512_sub_ps(_mm512_castsi512_ps(low), _mm512_castsi512_ps(low_part)));
    high = _mm512_castps_si512(_mm512_sub_ps(_mm512_castsi512_ps(high), _mm512_castsi512_ps(high_part)));
  }
}

TW_AMX inline __m512i larger_magnitude(__m512i largest, __m512i low, __m512i high) {
  const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
  return _mm512_max_epu32(
      largest, _mm512_max_epu32(_mm512_and_si512(low, magnitude), _mm512_and_si512(high, magnitude)));
}

// 16 x 16 words: first within 2 x 2 and 4 x 4 blocks, then the blocks.
TW_AMX inline void transpose(__m512i rows[16]) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    rows[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    rows[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    rows[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    rows[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4; i++) {
    t[i] = _mm512_shuffle_i32x4(rows[i], rows[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(rows[i], rows[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_i32x4(rows[i + 8], rows[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(rows[i + 8], rows[i + 12], 0xdd);
  }
  for (int i = 0; i < 8; i++) {
    rows[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    rows[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
  }
}

TW_AMX inline void store_tiles(__m512i parts[kParts][16], bool transposed, char* tile) {
  for (int part = 0; part < kParts; part++) {
    if (transposed) transpose(parts[part]);
    for (int row = 0; row < kTileRows; row++)
      _mm512_store_si512(tile + part * kPartBytes + row * 64, parts[part][row]);
  }
}

// 16 outers whose inners follow each other.
template <bool kLeft>
TW_AMX void pack_rows(const float* data, int64_t stride, int64_t outers, int64_t inners, char* tile,
                      __m512i largest[16]) {
  for (int64_t first = 0; first < inners; first += kInners, tile += kBlockBytes) {
    __mmask16 low_lanes = first_lanes(inners - first), high_lanes = first_lanes(inners - first - kLanes);
    __m512i parts[kParts][16];
    for (int i = 0; i < kTileRows; i++) {
      const float* row = data + i * stride + first;
      __mmask16 present = i < outers ? 0xffff : 0;
      __m512i low = _mm512_maskz_loadu_epi32(low_lanes & present, row);
      __m512i high = _mm512_maskz_loadu_epi32(high_lanes & present, row + kLanes);
      largest[i] = larger_magnitude(largest[i], low, high);
      __m512i pairs[kParts];
      split_pairs(low, high, pairs);
      for (int part = 0; part < kParts; part++) parts[part][i] = pairs[part];
    }
    store_tiles(parts, !kLeft, tile);
  }
}

// 16 outers that lie side by side.
template <bool kLeft>
TW_AMX __m512i pack_columns(const float* data, int64_t stride, int64_t outers, int64_t inners, char* tile) {
  __m512i largest = _mm512_setzero_si512();
  __mmask16 lanes = first_lanes(outers);
  for (int64_t first = 0; first < inners; first += kInners, tile += kBlockBytes) {
    __m512i parts[kParts][16];
    for (int i = 0; i < kTileRows; i++) {
      const float* row = data + (first + i) * stride;
      __m512i low = _mm512_maskz_loadu_epi32(first + i < inners ? lanes : 0, row);
      __m512i high = _mm512_maskz_loadu_epi32(first + i + kLanes < inners ? lanes : 0, row + kLanes * stride);
      largest = larger_magnitude(largest, low, high);
      __m512i pairs[kParts];
      split_pairs(low, high, pairs);
      for (int part = 0; part < kParts; part++) parts[part][i] = pairs[part];
    }
    store_tiles(parts, kLeft, tile);
  }
  return largest;
}

TW_AMX Magnitudes summary(__m512i largest_of_outers) {
  __mmask16 nonzero = _mm512_cmpneq_epi32_mask(largest_of_outers, _mm512_setzero_si512());
  return {_mm512_reduce_max_epu32(largest_of_outers),
          _mm512_mask_reduce_min_epu32(nonzero, largest_of_outers)};
}

template <bool kLeft>
TW_AMX Magnitudes pack(const PanelSource& s, int64_t outers, int64_t inners, char* panel) {
  Magnitudes result;
  for (int half = 0; half < 2; half++) {
    const float* data = s.data + half * kTileRows * s.outer_stride;
    int64_t count = std::clamp<int64_t>(outers - half * kTileRows, 0, kTileRows);
    char* tile = panel + half * kTileBytes;
    if (s.inner_stride == 1) {
      __m512i largest[16] = {};
      pack_rows<kLeft>(data, s.outer_stride, count, inners, tile, largest);
      uint32_t of_outer[16];
      for (int i = 0; i < kTileRows; i++) of_outer[i] = _mm512_reduce_max_epu32(largest[i]);
      result.include(summary(_mm512_loadu_si512(of_outer)));
    } else {
      result.include(summary(pack_columns<kLeft>(data, s.inner_stride, count, inners, tile)));
    }
  }
  return result;
}

}  // namespace

Magnitudes pack_left(const PanelSource& source, int64_t outers, int64_t inners, char* panel) {
  return pack<true>(source, outers, inners, panel);
}

Magnitudes pack_right(const PanelSource& source, int64_t outers, int64_t inners, char* panel) {
  return pack<false>(source, outers, inners, panel);
}

}  // namespace tw::device::amx

#endif

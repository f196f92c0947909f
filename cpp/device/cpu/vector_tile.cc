#include "device/cpu/vector_tile.h"

#include "device/cpu/clones.h"

#if defined(__x86_64__)
#include <immintrin.h>
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")

namespace tw::device::vector {

namespace {

// Where a step's numbers of the row side lie. Apart from each other, three rows share a pointer: so all have
// one in a register.
template <int kRows, bool kNeighbours>
struct RowPointers {
  static constexpr int kCount = kNeighbours ? 1 : (kRows + 2) / 3;
  const float* at[kCount];
  int64_t step;

  TW_INLINE explicit RowPointers(const Tile& t) : step(t.rows_step) {
#pragma GCC unroll 5
    for (int i = 0; i < kCount; i++) at[i] = t.rows + 3 * i * step;
  }
  TW_INLINE float operator[](int r) const { return kNeighbours ? at[0][r] : at[r / 3][r % 3 * step]; }
  TW_INLINE void advance() {
#pragma GCC unroll 5
    for (int i = 0; i < kCount; i++) {
      at[i] += kNeighbours ? step : 1;
      asm("" : "+r"(at[i]));  // not one pointer and so many offsets
    }
  }
};

template <int kRows, int kVectors, bool kNeighbours>
void tile_of(const Tile& t, Ahead& ahead) {
  __m512 sums[kRows][kVectors];
#pragma GCC unroll 14
  for (int r = 0; r < kRows; r++)
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; j++) sums[r][j] = _mm512_setzero_ps();
  RowPointers<kRows, kNeighbours> rows(t);
  const float* columns = t.columns;
  int64_t columns_step = t.columns_step;
  int row = 0;
  for (int64_t left = t.inners; left > 0; left -= kStretch) {
    if (left <= kRows * kStretch && row < kRows) {  // lines that are written at the end
      __builtin_prefetch(t.out + row * t.out_step, 1);
      __builtin_prefetch(t.out + row * t.out_step + (kVectors - 1) * kLanes, 1);
      row++;
    }
    ahead.fetch();
    for (int64_t l = left < kStretch ? left : kStretch; l > 0; l--) {
      __m512 factors[kVectors];
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; j++) factors[j] = _mm512_loadu_ps(columns + j * kLanes);
#pragma GCC unroll 14
      for (int r = 0; r < kRows; r++) {
        __m512 one = _mm512_set1_ps(rows[r]);
#pragma GCC unroll 2
        for (int j = 0; j < kVectors; j++) sums[r][j] = _mm512_fmadd_ps(one, factors[j], sums[r][j]);
      }
      columns += columns_step;
      rows.advance();
    }
  }
  __m512 alpha = _mm512_set1_ps(t.alpha);
#pragma GCC unroll 14
  for (int r = 0; r < kRows; r++)
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; j++) {
      auto lanes = static_cast<__mmask16>(t.lanes >> (j * kLanes));
      __m512 value = _mm512_mul_ps(sums[r][j], alpha);
      if (t.start)
        value = _mm512_add_ps(value, _mm512_maskz_loadu_ps(lanes, t.start + r * t.start_step + j * kLanes));
      _mm512_mask_storeu_ps(t.out + r * t.out_step + j * kLanes, lanes, value);
    }
}

using TileFunction = void (*)(const Tile&, Ahead&);

template <int kVectors, bool kNeighbours>
TileFunction of_rows(int rows) {
  static constexpr TileFunction kAll[kMostRows] = {
      tile_of<1, kVectors, kNeighbours>,  tile_of<2, kVectors, kNeighbours>,
      tile_of<3, kVectors, kNeighbours>,  tile_of<4, kVectors, kNeighbours>,
      tile_of<5, kVectors, kNeighbours>,  tile_of<6, kVectors, kNeighbours>,
      tile_of<7, kVectors, kNeighbours>,  tile_of<8, kVectors, kNeighbours>,
      tile_of<9, kVectors, kNeighbours>,  tile_of<10, kVectors, kNeighbours>,
      tile_of<11, kVectors, kNeighbours>, tile_of<12, kVectors, kNeighbours>,
      tile_of<13, kVectors, kNeighbours>, tile_of<14, kVectors, kNeighbours>};
  return kAll[rows - 1];
}

__mmask16 first_lanes(int64_t count) {
  return static_cast<__mmask16>((1u << (count < kLanes ? count : kLanes)) - 1);
}

TW_INLINE __m512 low_pairs(__m512 a, __m512 b) {
  return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
}
TW_INLINE __m512 high_pairs(__m512 a, __m512 b) {
  return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
}

// to[c][r] = from[r * step + c] for the first rows and columns of 16; zeros from rows behind them.
TW_INLINE void transpose(const float* from, int64_t step, int64_t rows, int64_t columns, __m512 (&to)[16]) {
  __m512 a[16], b[16];
  __mmask16 lanes = first_lanes(columns);
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++)
    a[i] = i < rows ? _mm512_maskz_loadu_ps(lanes, from + i * step) : _mm512_setzero_ps();
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    a[i] = low_pairs(b[i], b[i + 2]);
    a[i + 1] = high_pairs(b[i], b[i + 2]);
    a[i + 2] = low_pairs(b[i + 1], b[i + 3]);
    a[i + 3] = high_pairs(b[i + 1], b[i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {  // quarters of vectors
    __m512 even = _mm512_shuffle_f32x4(a[i], a[i + 4], 0x88),
           odd = _mm512_shuffle_f32x4(a[i], a[i + 4], 0xdd);
    __m512 even_below = _mm512_shuffle_f32x4(a[i + 8], a[i + 12], 0x88);
    __m512 odd_below = _mm512_shuffle_f32x4(a[i + 8], a[i + 12], 0xdd);
    to[i] = _mm512_shuffle_f32x4(even, even_below, 0x88);
    to[i + 4] = _mm512_shuffle_f32x4(odd, odd_below, 0x88);
    to[i + 8] = _mm512_shuffle_f32x4(even, even_below, 0xdd);
    to[i + 12] = _mm512_shuffle_f32x4(odd, odd_below, 0xdd);
  }
}

// to[l * width + i] from 16 numbers i of a side, and from `count` of them, whose inner indices are
// neighbours.
TW_INLINE void pack_turned(const Side& from, int64_t count, int64_t inners, int64_t width, float* to) {
  for (int64_t l = 0; l < inners; l += kLanes) {
    __m512 turned[16];
    int64_t steps = inners - l < kLanes ? inners - l : kLanes;
    transpose(from.data + l, from.outer, count, steps, turned);
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; i++)
      if (i < steps) _mm512_storeu_ps(to + (l + i) * width, turned[i]);
  }
}

TW_INLINE void pack_neighbours(const Side& from, int64_t count, int64_t inners, int64_t width, float* to) {
  __mmask16 lanes = first_lanes(count);
  for (int64_t l = 0; l < inners; l++)
    _mm512_storeu_ps(to + l * width, _mm512_maskz_loadu_ps(lanes, from.data + l * from.inner));
}

}  // namespace

bool has_avx512() {
  static const bool has = __builtin_cpu_supports("x86-64-v4");
  return has;
}

void run_tile(int rows, bool wide, bool neighbours, const Tile& tile, Ahead& ahead) {
  TileFunction function = wide ? (neighbours ? of_rows<2, true>(rows) : of_rows<2, false>(rows))
                               : (neighbours ? of_rows<1, true>(rows) : of_rows<1, false>(rows));
  function(tile, ahead);
}

void pack_rows(const Side& from, int rows, int64_t inners, float* to) {
  if (from.inner == 1)
    pack_turned(from, rows, inners, rows, to);
  else
    pack_neighbours(from, rows, inners, rows, to);
}

void pack_columns(const Side& from, int64_t columns, int64_t inners, int64_t width, float* to) {
  for (int64_t j = 0; j < width; j += kLanes) {
    Side half = from.at(j < columns ? j : 0, 0);
    int64_t count = columns - j < kLanes ? (columns > j ? columns - j : 0) : kLanes;
    if (from.outer == 1)
      pack_neighbours(half, count, inners, width, to + j);
    else
      pack_turned(half, count, inners, width, to + j);
  }
}

void store_turned(const float* tile, int rows, int64_t columns, float* to, int64_t step) {
  __mmask16 lanes = first_lanes(rows);
  for (int64_t j = 0; j < columns; j += kLanes) {
    __m512 turned[16];
    transpose(tile + j, kPanel, rows, kLanes, turned);
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; i++) {
      if (j + i >= columns) break;
      _mm512_mask_storeu_ps(to + (j + i) * step, lanes, turned[i]);
    }
  }
}

}  // namespace tw::device::vector

#pragma GCC pop_options

#else

namespace tw::device::vector {

bool has_avx512() { return false; }

}  // namespace tw::device::vector

#endif

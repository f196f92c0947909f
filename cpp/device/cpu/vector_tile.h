// What products of float matrices are made of where the processor has AVX-512: sums of up to 14 rows by 32
// columns in registers, and the packing of what they read. Called only where has_avx512().
//
// Of the two factors one is the *row side*, of which a step reads one number a row, and the other the *column
// side*, of which it reads 16 or 32 neighbours: two loads and 14 broadcasts for 28 multiply-adds.
#pragma once

#include <cstdint>

namespace tw::device::vector {

inline constexpr int kLanes = 16, kMostRows = 14, kPanel = 2 * kLanes;
inline constexpr int64_t kStretch = 8;  // inner indices

bool has_avx512();

// A factor of a product: the number of row or column i and inner index l at data[i * outer + l * inner].
struct Side {
  const float* data;
  int64_t outer, inner;

  Side at(int64_t i, int64_t l) const { return {data + i * outer + l * inner, outer, inner}; }
};

// Memory that is wanted soon, fetched line by line while tiles compute: `rows` times `lines` cache lines, row
// after row of one line, then of the next.
struct Ahead {
  const char* data = nullptr;
  int64_t step = 0, rows = 0, lines = 0;  // step: bytes from row to row
  int64_t each = 0;                       // lines that are fetched at a time
  int64_t row = 0, line = 0;

  void fetch() {
    for (int64_t i = 0; i < each && line < lines; i++) {
      __builtin_prefetch(data + row * step + line * 64, 0, 2);
      if (++row == rows) row = 0, line++;
    }
  }
};

// out[r][j] = alpha · Σ rows(r, l) · columns(l, j) + start[r][j]
struct Tile {
  int64_t inners;
  const float* rows;
  int64_t rows_step;  // from inner to inner, where a step's rows are neighbours; else from row to row
  const float* columns;
  int64_t columns_step;  // from inner to inner
  float alpha;
  const float* start;  // null: nothing is added
  int64_t start_step;
  float* out;
  int64_t out_step;
  uint32_t lanes;  // which of the columns there are
};

// `rows` 1 to kMostRows; `wide`: 32 columns, else 16. `neighbours`: see rows_step. `ahead` is asked once a
// stretch.
void run_tile(int rows, bool wide, bool neighbours, const Tile& tile, Ahead& ahead);

// to[l][rows] from rows [0, rows) of a side; reaches up to kLanes elements further.
void pack_rows(const Side& from, int rows, int64_t inners, float* to);
// to[l][width] from columns [0, columns) of a side, zeros behind them; width: kLanes or kPanel.
void pack_columns(const Side& from, int64_t columns, int64_t inners, int64_t width, float* to);
// to[j * step + r] = tile[r][j] for rows r and columns j of a tile of kPanel.
void store_turned(const float* tile, int rows, int64_t columns, float* to, int64_t step);

}  // namespace tw::device::vector

// Products of float matrices as they lie, or packed for several, by the tiles of vector_tile.h: for callers
// that know more than a product does, such as which of its numbers nobody reads. Called only where
// has_avx512().
//
// Rows are computed in strips of up to kMostRows. A number is alpha times a chain of fused multiply-adds over
// its strip's inner indices, in order: it depends on how many rows there are, but on no thread.
#pragma once

#include "device/cpu/vector_tile.h"

namespace tw::device::vector {

// Of a matrix that is a triangle: with row r, a strip's last or first, this ends or begins at r + offset + 1
// or at r - offset.
struct Seen {
  enum What : uint8_t { kAll, kColumnsUpTo, kInnersUpTo, kInnersFrom } what = kAll;
  int64_t offset = 0;
};

struct StripProduct {
  int64_t rows, columns, inners;
  Side row_side;           // whose rows or inner indices are neighbours
  const float* panels;     // of kPanel columns each, the last one readable as a whole
  int64_t panels_step;     // from inner to inner
  int64_t panel_distance;  // from panel to panel
  float alpha;
  float* out;
  int64_t out_step;
  bool add;  // to what `out` holds; else it is not read
};

// out[rows, columns] = alpha · Σ rows(r, l) · panels(l, j), + out with `add`; what `seen` leaves out is
// neither computed nor written.
void multiply_strips(const StripProduct& product, Seen seen);

// The panels of a side's columns, [panel][inner][kPanel], zeros behind the last: what multiply_strips reads.
void pack_panels(const Side& from, int64_t columns, int64_t inners, float* to);

}  // namespace tw::device::vector

// From products of queries and keys to scores, for the kernels on tiles.
#pragma once

#include "cuda/ops/attention/tiles.h"

namespace tw::cuda {

// A tile of positions of a head.
struct BlockPlace {
  int tile;
  int64_t head, batch;
};
// The block's; the last tiles come first where they see the most.
TW_DEVICE BlockPlace block_place(int tiles, int64_t heads, bool last_first) {
  unsigned block = blockIdx.x;
  int tile = static_cast<int>(block % tiles);
  return {last_first ? tiles - 1 - tile : tile, block / tiles % heads, block / tiles / heads};
}

// kRows positions a tile.
template <int kRows>
TW_BOTH int tiles_of(int64_t positions) {
  return static_cast<int>((positions + kRows - 1) / kRows);
}

// Positions in the tiles of a block.
struct Pair {
  int query, key;
};

// Turns products of a tile into scores in units of log 2. The tile is of kQueries from first_query on and
// kKeys from first_key on; pair(r, column) says whose an element is. Places in masks are counted in 32 bits
// from the tile's corner: see kMostMaskStep.
template <int kQueries, int kKeys, class T, class ScoreSums, class PairOf>
TW_DEVICE void log2_scores(const Problem<T>& p, ScoreSums& sums, const BlockPlace& at, int64_t first_query,
                           int64_t first_key, PairOf pair) {
  int queries = static_cast<int>(p.queries - first_query < kQueries ? p.queries - first_query : kQueries);
  int keys = static_cast<int>(p.keys - first_key < kKeys ? p.keys - first_key : kKeys);
  // Query q sees keys up to q + ahead.
  int ahead = p.causal ? static_cast<int>(first_query - first_key) : kKeys;
  if (queries == kQueries && keys == kKeys && ahead >= kKeys - 1 && !p.mask.data) {
    float scale = p.scale * kLog2E;
    sums.each([&](float& s, int, int) { s *= scale; });
    return;
  }
  int64_t corner = p.mask.place(at.batch, at.head, first_query, first_key);
  int row = static_cast<int>(p.mask.row), column_step = static_cast<int>(p.mask.column);
  sums.each([&](float& s, int r, int column) {
    auto [query, key] = pair(r, column);
    bool seen = query < queries && key < keys && key <= query + ahead;
    float value = p.scale * s;
    if (seen && p.mask.data) value = p.masked(value, corner + (query * row + key * column_step));
    s = seen ? value * kLog2E : Problem<T>::kLowest;
  });
}
// The farthest that neighbouring elements of a mask may lie from each other.
inline constexpr int64_t kMostMaskStep = 1 << 23;

}  // namespace tw::cuda

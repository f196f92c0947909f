// Tiles of heads in shared memory, and what a warp multiplies them into.
//
// A warp's sums are kRowTiles times 16 rows of kColumnTiles times 8 columns. They, rounded, are the first
// operand of the next product as they lie in registers: weights never pass through memory.
#pragma once

#include "cuda/common/async_copy.h"
#include "cuda/common/launch.h"
#include "cuda/common/mma.h"
#include "cuda/common/warp.h"
#include "cuda/common/wide_copy.h"
#include "cuda/ops/attention/problem.h"

namespace tw::cuda {

inline constexpr int kPiece = 8;  // elements of a half type in 16 bytes, which move at a time
inline constexpr int kRowTile = 16;
inline constexpr float kLog2E = 1.4426950408889634f;

// Rows of kColumns elements, a multiple of 64. Eight rows' pieces of one number lie in different banks: a
// piece's number is combined with its row's.
template <class T, int kColumns>
struct Tile {
  static_assert(is_half_type<T> && kColumns % 64 == 0);
  static constexpr int kPieces = kColumns / kPiece;
  T* data;

  TW_DEVICE T* at(int row, int piece) const { return data + row * kColumns + (piece ^ (row & 7)) * kPiece; }
  // The tile after `tiles` others of kRows rows.
  template <int kRows>
  TW_DEVICE Tile after(int tiles) const {
    return {data + tiles * kRows * kColumns};
  }
};

// What a block reads and writes of one head: rows `step` elements apart.
template <class T>
struct HeadRows {
  T* data;
  int64_t step, count;
};
template <class T>
TW_DEVICE HeadRows<T> head_rows(const Heads<T>& heads, int64_t b, int64_t h, int64_t count) {
  return {heads.row(b, 0, h), heads.position, count};
}

// Begins to copy kRows rows from `first` on; zeros beyond the last.
template <int kRows, int kThreads, class T, int kColumns>
TW_DEVICE void fetch_rows(Tile<T, kColumns> tile, const HeadRows<T>& from, int64_t first) {
  constexpr int kPieces = Tile<T, kColumns>::kPieces, kAtOnce = kThreads / kPieces;
  static_assert(kThreads % kPieces == 0 && kRows % kAtOnce == 0);
  int left = static_cast<int>(from.count - first < kRows ? from.count - first : kRows);
  int row = static_cast<int>(threadIdx.x) / kPieces, piece = static_cast<int>(threadIdx.x) % kPieces;
  const T* at = from.data + (first + row) * from.step + piece * kPiece;
  TW_UNROLL
  for (int s = 0; s < kRows; s += kAtOnce) {
    copy_async<16>(tile.at(s + row, piece), at, s + row < left);
    at += kAtOnce * from.step;
  }
}
// The same of 8 bytes a row, all of which are there.
template <int kRows, int kThreads, class Numbers>
TW_DEVICE void fetch_numbers(Numbers* to, const Numbers* from) {
  static_assert(sizeof(Numbers) == 8);
  for (int row = static_cast<int>(threadIdx.x); row < kRows; row += kThreads)
    copy_async<8>(to + row, from + row, true);
}

// A lane has elements of 2 * kRowTiles rows: row r is row_of_lane(r) of the warp's; of each 8 columns it has
// two, side by side.
TW_DEVICE int row_of_lane(int r) { return r / 2 * kRowTile + r % 2 * 8 + lane_index() / 4; }

template <int kRowTiles, int kColumnTiles>
struct Sums {
  static constexpr int kRows = 2 * kRowTiles;
  float at[kRowTiles][kColumnTiles][4] = {};

  TW_DEVICE float& of(int r, int n, int i) { return at[r / 2][n][r % 2 * 2 + i]; }
  TW_DEVICE float of(int r, int n, int i) const { return at[r / 2][n][r % 2 * 2 + i]; }
  // visit(value) of the lane's elements of its row r.
  template <class Visit>
  TW_DEVICE void each_of_row(int r, Visit visit) {
    TW_UNROLL
    for (int e = 0; e < kColumnTiles * 2; e++) visit(of(r, e / 2, e % 2));
  }
  // visit(value, r, column)
  template <class Visit>
  TW_DEVICE void each(Visit visit) {
    int first = lane_index() % 4 * 2;
    TW_UNROLL
    for (int e = 0; e < kRows * kColumnTiles * 2; e++) {
      int r = e / (kColumnTiles * 2), n = e / 2 % kColumnTiles, i = e % 2;
      visit(of(r, n, i), r, n * 8 + first + i);
    }
  }
  // Each element less what less(r, column) is, times the one of `weights`.
  template <class Less>
  TW_DEVICE void centre_and_weigh(const Sums& weights, Less less) {
    each([&](float& x, int r, int column) {
      x = weights.of(r, column / 8, column % 2) * (x - less(r, column));
    });
  }
};

// Sums rounded to the half type: kRowTiles times 16 rows, kDepthTiles times 16 columns.
template <int kRowTiles, int kDepthTiles>
struct Weights {
  uint32_t at[kRowTiles][kDepthTiles][4];
};
template <class T, int kRowTiles, int kColumnTiles>
TW_DEVICE Weights<kRowTiles, kColumnTiles / 2> rounded(const Sums<kRowTiles, kColumnTiles>& sums) {
  Weights<kRowTiles, kColumnTiles / 2> weights;
  TW_UNROLL
  for (int e = 0; e < kRowTiles * 2 * kColumnTiles; e++) {
    int r = e / kColumnTiles, n = e % kColumnTiles;
    weights.at[r / 2][n / 2][n % 2 * 2 + r % 2] = pack_pair<T>(sums.of(r, n, 0), sums.of(r, n, 1));
  }
  return weights;
}

// sums += the warp's rows of `a`, from first_row on, times the rows of `b`.
template <class T, int kColumns, int kRowTiles, int kColumnTiles>
TW_DEVICE void multiply_rows(Sums<kRowTiles, kColumnTiles>& sums, Tile<T, kColumns> a, int first_row,
                             Tile<T, kColumns> b) {
  int lane = lane_index();
  TW_UNROLL_2
  for (int k = 0; k < kColumns / 16; k++) {
    uint32_t of_a[kRowTiles][4];
    TW_UNROLL
    for (int m = 0; m < kRowTiles; m++)
      load_matrices(of_a[m], a.at(first_row + m * kRowTile + lane % 16, k * 2 + lane / 16));
    TW_UNROLL
    for (int n = 0; n < kColumnTiles; n += 2) {
      uint32_t of_b[4];
      load_matrices(of_b, b.at(n * 8 + lane / 16 * 8 + lane % 8, k * 2 + lane / 8 % 2));
      TW_UNROLL
      for (int m = 0; m < kRowTiles; m++) {
        mma_16x8x16<T>(sums.at[m][n], of_a[m], of_b[0], of_b[1]);
        mma_16x8x16<T>(sums.at[m][n + 1], of_a[m], of_b[2], of_b[3]);
      }
    }
  }
}

// sums += weights times b, which has a row for each column of the weights.
template <class T, int kColumns, int kRowTiles, int kDepthTiles>
TW_DEVICE void multiply_weights(Sums<kRowTiles, kColumns / 8>& sums,
                                const Weights<kRowTiles, kDepthTiles>& weights, Tile<T, kColumns> b) {
  int lane = lane_index();
  TW_UNROLL
  for (int e = 0; e < kDepthTiles * kColumns / 16; e++) {
    int k = e / (kColumns / 16), n = e % (kColumns / 16) * 2;
    uint32_t of_b[4];
    load_matrices_transposed(of_b, b.at(k * 16 + lane % 16, n + lane / 16));
    TW_UNROLL
    for (int m = 0; m < kRowTiles; m++) {
      mma_16x8x16<T>(sums.at[m][n], weights.at[m][k], of_b[0], of_b[1]);
      mma_16x8x16<T>(sums.at[m][n + 1], weights.at[m][k], of_b[2], of_b[3]);
    }
  }
}

// Writes the warp's sums, rounded, to rows first + first_row and on, by way of its own rows of a tile that no
// other warp touches any more.
template <class T, int kColumns, int kRowTiles>
TW_DEVICE void write_rows(const HeadRows<T>& to, int64_t first, Tile<T, kColumns> tile, int first_row,
                          const Sums<kRowTiles, kColumns / 8>& sums) {
  constexpr int kPieces = Tile<T, kColumns>::kPieces;
  int lane = lane_index();
  __syncwarp();
  TW_UNROLL
  for (int e = 0; e < kRowTiles * 2 * kPieces; e++) {
    int r = e / kPieces, piece = e % kPieces;
    T* pair = tile.at(first_row + row_of_lane(r), piece) + lane % 4 * 2;
    *reinterpret_cast<uint32_t*>(pair) = pack_pair<T>(sums.of(r, piece, 0), sums.of(r, piece, 1));
  }
  __syncwarp();
  TW_UNROLL
  for (int s = 0; s < kRowTiles * kRowTile * kPieces / kLanes; s++) {
    int at = s * kLanes + lane, row = first_row + at / kPieces, piece = at % kPieces;
    if (first + row < to.count)
      copy_wide(to.data + (first + row) * to.step + piece * kPiece, tile.at(row, piece));
  }
}

// Four lanes that follow each other have four words each: lane i gets word i of each lane, in the lanes'
// order.
TW_DEVICE void turn_words(uint32_t (&words)[4]) {
  bool odd = lane_index() % 2, high = lane_index() / 2 % 2;
  uint32_t a = shuffle_xor(odd ? words[0] : words[1], 1), b = shuffle_xor(odd ? words[2] : words[3], 1);
  (odd ? words[0] : words[1]) = a, (odd ? words[2] : words[3]) = b;
  a = shuffle_xor(high ? words[0] : words[2], 2), b = shuffle_xor(high ? words[1] : words[3], 2);
  (high ? words[0] : words[2]) = a, (high ? words[1] : words[3]) = b;
}

// The same from registers: of each four pieces of a row the four lanes that share it write one each.
template <class T, int kRowTiles, int kColumnTiles>
TW_DEVICE void write_rows(const HeadRows<T>& to, int64_t first, const Sums<kRowTiles, kColumnTiles>& sums) {
  static_assert(kColumnTiles % 4 == 0);
  TW_UNROLL
  for (int e = 0; e < kRowTiles * 2 * kColumnTiles / 4; e++) {
    int r = e / (kColumnTiles / 4), piece = e % (kColumnTiles / 4) * 4;
    uint32_t words[4];
    TW_UNROLL
    for (int i = 0; i < 4; i++) words[i] = pack_pair<T>(sums.of(r, piece + i, 0), sums.of(r, piece + i, 1));
    turn_words(words);
    int64_t row = first + row_of_lane(r);
    T* at = to.data + row * to.step + (piece + lane_index() % 4) * kPiece;
    if (row < to.count)
      store_pack(reinterpret_cast<uint32_t*>(at), Pack<uint32_t, 4>{words[0], words[1], words[2], words[3]});
  }
}

}  // namespace tw::cuda

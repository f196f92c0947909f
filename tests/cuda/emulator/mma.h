// The warp's matrix operations, with the layouts of registers that PTX gives them (PTX ISA: "Matrix Fragments
// for mma.m16n8k16 with floating point type", "ldmatrix").
#pragma once

#include "tests/cuda/emulator/device.h"

namespace tw::cuda {

namespace emulator {

// Every lane gives some words and sees those of all 32.
struct Words {
  uint64_t at[3];
};
const Words* exchange_words(const Words& words, std::source_location where);
// Of shared memory alone.
void check_matrix_read(const void* data, size_t size_bytes);

// Half `half` of a lane's register `index`: 0 to 3 hold A, 4 and 5 hold B.
template <class T>
TW_UNCHECKED float half_of(const Words& words, int index, int half) {
  T value;
  std::memcpy(&value, reinterpret_cast<const char*>(&words) + index * 4 + half * 2, sizeof(T));
  return static_cast<float>(value);
}

template <class T>
TW_UNCHECKED void multiply(float (&sums)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                           std::source_location where) {
  constexpr int kDepth = 16;
  Words own;
  uint32_t registers[] = {a[0], a[1], a[2], a[3], b0, b1};
  static_assert(sizeof(registers) == sizeof(own));
  std::memcpy(&own, registers, sizeof(own));
  const Words* lanes = exchange_words(own, where);
  // The lane has two rows of A's and two columns of B's: those of its elements of the product.
  int lane = static_cast<int>(g_now.thread.x) % kWarp, row = lane / 4, column = lane % 4 * 2;
  float rows[2][kDepth], columns[2][kDepth];
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < kDepth; k++) {
      rows[i][k] = half_of<T>(lanes[row * 4 + k % 8 / 2], k / 8 * 2 + i, k % 2);
      columns[i][k] = half_of<T>(lanes[(column + i) * 4 + k % 8 / 2], 4 + k / 8, k % 2);
    }
  for (int i = 0; i < 4; i++) {
    float sum = 0;
    for (int k = 0; k < kDepth; k++) sum += rows[i / 2][k] * columns[i % 2][k];
    sums[i] += sum;
  }
}

// Lane l names row l % 8 of matrix l / 8, each row 8 elements of 2 bytes, and gets of each matrix two
// elements that lie side by side, or one above the other where it is transposed.
TW_UNCHECKED inline void load_matrices(uint32_t (&to)[4], const void* row, bool transposed,
                                       std::source_location where) {
  check_alignment(row, 16);
  const Words* lanes = exchange_words({{reinterpret_cast<uintptr_t>(row)}}, where);
  int lane = static_cast<int>(g_now.thread.x) % kWarp, far = lane / 4, near = lane % 4 * 2;
  for (int matrix = 0; matrix < 4; matrix++)
    for (int half = 0; half < 2; half++) {
      int from_row = transposed ? near + half : far, column = transposed ? far : near + half;
      const char* at = reinterpret_cast<const char*>(lanes[matrix * 8 + from_row].at[0]) + column * 2;
      check_matrix_read(at, 2);
      std::memcpy(reinterpret_cast<char*>(&to[matrix]) + half * 2, at, 2);
    }
}

}  // namespace emulator

template <class T>
void mma_16x8x16(float (&sums)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, TW_WHERE) {
  emulator::multiply<T>(sums, a, b0, b1, where);
}
inline void load_matrices(uint32_t (&to)[4], const void* row, TW_WHERE) {
  emulator::load_matrices(to, row, false, where);
}
inline void load_matrices_transposed(uint32_t (&to)[4], const void* row, TW_WHERE) {
  emulator::load_matrices(to, row, true, where);
}

}  // namespace tw::cuda

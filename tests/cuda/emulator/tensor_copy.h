// Copies of tiles (TMA): what a tensor map says is checked as the driver and the processor would.
#pragma once

#include "tests/cuda/emulator/device.h"

namespace tw::cuda {

struct TensorMap;

namespace emulator {

void copy_tile(void* to, const TensorMap& map, const int (&place)[4], Barrier* barrier);
void copy_bytes(void* to, const void* from, int size_bytes, Barrier* barrier);
// Ends the copy that has gone on for the longest; false where there is none. Called between threads.
bool end_a_copy();
void drop_copies();

}  // namespace emulator

inline void copy_tile(void* to, const TensorMap& map, int column, int row, int head, int batch,
                      Barrier* barrier) {
  emulator::copy_tile(to, map, {column, row, head, batch}, barrier);
}

inline void copy_bytes(void* to, const void* from, int size_bytes, Barrier* barrier) {
  emulator::copy_bytes(to, from, size_bytes, barrier);
}

}  // namespace tw::cuda

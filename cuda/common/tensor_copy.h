// Copies of tiles of a tensor to shared memory by one thread (TMA, of compute capability 9.0):
//
//   TensorMap map = tensor_map(op, dtype, data, sizes, strides, rows);          // host
//   copy_tile(to, map, column, row, head, batch, &barrier);                     // device
//
// A tensor has four dims, the innermost first, whose elements are of 2 bytes and lie side by side. A tile is
// kTileColumns of them of each of `rows` neighbours along dim 1; zeros stand for what lies outside of the
// tensor. In shared memory a row of a tile is 128 bytes, of which piece p of 16 bytes lies where piece p ^
// (row % 8) would: rows' pieces of one number lie in different banks, and products of groups
// (group_product.h) read tiles so. A tile begins at a multiple of kTileAlignment.
//
// The copy arrives at the barrier with all of the tile's bytes, which somebody must have said are expected.
#pragma once

#include "base/dims.h"
#include "base/dtype.h"
#include "cuda/common/barrier.h"
#include "cuda/common/runtime.h"

#ifndef TW_CUDA_EMULATOR
#include <cuda.h>
#endif

namespace tw::cuda {

inline constexpr int kTileColumns = 64, kTileAlignment = 1024;

struct TensorMap {
  CUtensorMap map;
};

// Strides in elements, but for dim 0, whose is 1: multiples of 8; data at a multiple of 16; at most 256 rows.
// No size is 0. Throws kDevice naming `op` when the driver refuses.
TensorMap tensor_map(const char* op, DType dtype, const void* data, const Dims& sizes, const Dims& strides,
                     int rows);

}  // namespace tw::cuda

#ifdef TW_CUDA_EMULATOR
#include "tests/cuda/emulator/tensor_copy.h"
#elif defined(__CUDACC__)  // files for the host need no more than the types

namespace tw::cuda {

TW_DEVICE void copy_tile(void* to, const TensorMap& map, int column, int row, int head, int batch,
                         Barrier* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, "
      "%6}], [%2];" ::"r"(shared_address(to)),
      "l"(&map.map), "r"(shared_address(barrier)), "r"(column), "r"(row), "r"(head), "r"(batch)
      : "memory");
}

// The same of bytes that lie side by side: both addresses and the size are multiples of 16.
TW_DEVICE void copy_bytes(void* to, const void* from, int size_bytes, Barrier* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(to)),
      "l"(from), "r"(size_bytes), "r"(shared_address(barrier))
      : "memory");
}

}  // namespace tw::cuda
#endif

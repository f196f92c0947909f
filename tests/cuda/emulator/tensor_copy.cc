#include "cuda/common/tensor_copy.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <utility>

#include "base/cat.h"
#include "tests/cuda/emulator/memory.h"
#include "tests/cuda/emulator/shared.h"

namespace tw::cuda::emulator {

namespace {

constexpr int kRowBytes = 128, kPieceBytes = 16;

// A tile of a tensor.
struct Tile {
  char* to;
  CUtensorMap map;
  int place[4];
  size_t size_bytes() const { return size_t{map.box[1]} * kRowBytes; }
  // Where row `row` comes from, and how many of its bytes lie in the tensor.
  const char* source(int row) const {
    const char* at = map.data + static_cast<int64_t>(place[0]) * 2;
    for (int dim = 1; dim < 4; dim++)
      at += (place[dim] + (dim == 1 ? row : 0)) * static_cast<int64_t>(map.steps[dim]);
    return at;
  }
  size_t bytes_inside(int row) const {
    for (int dim = 1; dim < 4; dim++)
      if (static_cast<uint64_t>(place[dim] + (dim == 1 ? row : 0)) >= map.sizes[dim]) return 0;
    int64_t left = (static_cast<int64_t>(map.sizes[0]) - place[0]) * 2;
    return static_cast<size_t>(std::clamp<int64_t>(left, 0, kRowBytes));
  }
  void check() const {
    for (int row = 0; row < static_cast<int>(map.box[1]); row++)
      if (size_t bytes = bytes_inside(row)) check_read(source(row), bytes);
  }
  void write() const {
    for (int row = 0; row < static_cast<int>(map.box[1]); row++) {
      char line[kRowBytes] = {};
      if (size_t bytes = bytes_inside(row)) std::memcpy(line, source(row), bytes);
      for (int piece = 0; piece < kRowBytes / kPieceBytes; piece++)
        std::memcpy(to + row * kRowBytes + (piece ^ (row % 8)) * kPieceBytes, line + piece * kPieceBytes,
                    kPieceBytes);
    }
  }
};

struct Copy {
  std::function<void()> write;
  const void* barrier;
  int fill;
  size_t size_bytes;
};
std::deque<Copy> g_tile_copies;

void begin(void* to, size_t size_bytes, int alignment, Barrier* barrier, std::function<void()> write) {
  if (!is_shared(to)) fail("copies a tile to an address outside of shared memory");
  check_alignment(to, static_cast<size_t>(alignment));
  int fill = begin_tile(to, size_bytes, barrier, phase_of(barrier));
  g_tile_copies.push_back({std::move(write), barrier, fill, size_bytes});
}

}  // namespace

void copy_tile(void* to, const TensorMap& map, const int (&place)[4], Barrier* barrier) {
  if (place[0] < 0 || place[1] < 0 || place[2] < 0 || place[3] < 0)
    fail("copies a tile from before a tensor");
  Tile tile{static_cast<char*>(to), map.map, {place[0], place[1], place[2], place[3]}};
  tile.check();
  begin(to, tile.size_bytes(), kTileAlignment, barrier, [tile] { tile.write(); });
}

void copy_bytes(void* to, const void* from, int size_bytes, Barrier* barrier) {
  check_alignment(from, kPieceBytes);
  if (size_bytes % kPieceBytes != 0) fail("copies bytes whose number is no multiple of 16");
  auto count = static_cast<size_t>(size_bytes);
  check_read(from, count);
  begin(to, count, kPieceBytes, barrier, [=] { std::memcpy(to, from, count); });
}

bool end_a_copy() {
  if (g_tile_copies.empty()) return false;
  Copy copy = std::move(g_tile_copies.front());
  g_tile_copies.pop_front();
  copy.write();
  end_tile(copy.fill);
  bytes_arrive(copy.barrier, static_cast<int64_t>(copy.size_bytes));
  return true;
}

void drop_copies() { g_tile_copies.clear(); }

}  // namespace tw::cuda::emulator

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                             unsigned long long, cudaDriverEntryPointQueryResult* result) {
  bool found = std::strcmp(symbol, "cuTensorMapEncodeTiled") == 0;
  *function = found ? reinterpret_cast<void*>(cuTensorMapEncodeTiled) : nullptr;
  *result = found ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, uint32_t rank, void* data,
                                const uint64_t* sizes, const uint64_t* steps, const uint32_t* box,
                                const uint32_t* apart, CUtensorMapInterleave, CUtensorMapSwizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  // With 128 bytes a row of a tile.
  bool fits = rank == 4 && reinterpret_cast<uintptr_t>(data) % 16 == 0 && box[0] * 2 == 128;
  for (uint32_t dim = 0; dim < rank && fits; dim++) {
    fits = sizes[dim] > 0 && sizes[dim] <= uint64_t{1} << 32 && box[dim] > 0 && box[dim] <= 256 &&
           apart[dim] == 1;
    if (dim > 0) fits &= steps[dim - 1] > 0 && steps[dim - 1] % 16 == 0 && steps[dim - 1] < uint64_t{1} << 40;
  }
  if (!fits) return CUDA_ERROR_INVALID_VALUE;
  *map = {static_cast<const char*>(data), {}, {2}, {}};
  std::copy_n(sizes, 4, map->sizes);
  std::copy_n(steps, 3, map->steps + 1);
  std::copy_n(box, 4, map->box);
  return CUDA_SUCCESS;
}

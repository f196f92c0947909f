// Tiles that are copied, barriers, and products of groups: what goes where, and the faults that are told.
#include "cuda/common/group_product.h"

#include "base/error.h"
#include "cuda/common/launch.h"
#include "cuda/common/warp.h"
#include "test.h"
#include "tests/cuda/common/device_array.h"

namespace tw::cuda {

namespace {

constexpr int kDepth = 64;  // a tile's columns

enum class Fault { kNone, kWaitTile, kExpect, kWaitProduct, kOneWarp, kEarly, kArrive, kSync, kAlign };

struct Maps {
  TensorMap a, b;
};

// sums[64, kColumns] = a[64, kDepth] bᵀ, of b[kColumns, kDepth]; or a b, of b[kDepth, kColumns], with a from
// registers.
template <class T, int kColumns, bool kHeld, Fault kFault = Fault::kNone>
__global__ void multiply(const __grid_constant__ Maps maps, const T* a, float* out) {
  constexpr int kPanels = kHeld ? kColumns / kTileColumns : 1, kRows = kHeld ? kDepth : kColumns;
  constexpr int kPanelBytes = kRows * kTileColumns * 2, kTileBytes = kGroupRows * kDepth * 2;
  char* of_a = dynamic_shared<char>();
  of_a += (kTileAlignment - reinterpret_cast<uintptr_t>(of_a) % kTileAlignment) % kTileAlignment;
  char* of_b = of_a + kTileBytes + (kFault == Fault::kAlign ? 128 : 0);
  TW_SHARED(Barrier, there, 1);
  if (threadIdx.x == 0) begin_barrier(there, 1);
  publish_barriers();
  if constexpr (kFault != Fault::kSync) __syncthreads();
  if (threadIdx.x == 0) {
    arrive_and_expect(there, kTileBytes + kPanels * kPanelBytes + (kFault == Fault::kExpect ? 16 : 0));
    copy_tile(of_a, maps.a, 0, 0, 0, 0, there);
    for (int panel = 0; panel < kPanels; panel++)
      copy_tile(of_b + panel * kPanelBytes, maps.b, panel * kTileColumns, 0, 0, 0, there);
  }
  if constexpr (kFault != Fault::kWaitTile) wait_for(there, 0);
  float sums[kColumns / 8][4] = {};
  int row = warp_index() * 16 + lane_index() / 4, column = lane_index() % 4 * 2;
  uint32_t held[kDepth / 16][4];
  for (int e = 0; e < kDepth / 4; e++) {
    const T* pair = a + (row + e % 2 * 8) * kDepth + e / 4 * 16 + e / 2 % 2 * 8 + column;
    held[e / 4][e % 4] = pair[0].bits | static_cast<uint32_t>(pair[1].bits) << 16;
  }
  hold(sums);
  begin_products();
  TileFactor first = tile_factor(of_a, 0), second = tile_factor(of_b, kPanelBytes);
  for (int step = 0; step < kDepth / 16 && (kFault != Fault::kOneWarp || warp_index() != 1); step++) {
    if constexpr (kHeld)
      multiply_held<T>(sums, held[step], second.after(step * 16 * 128));
    else
      multiply_tiles<T>(sums, first.after(step * 32), second.after(step * 32), step > 0);
  }
  end_products();
  if constexpr (kFault != Fault::kWaitProduct) wait_for_products<0>();
  hold(sums);
  for (int n = 0; n < kColumns / 8; n++)
    for (int i = 0; i < 4; i++) out[(row + i / 2 * 8) * kColumns + n * 8 + column + i % 2] = sums[n][i];
}

template <class T>
TensorMap matrix(const DeviceArray<T>& data, int64_t rows, int64_t columns, int box_rows) {
  return tensor_map("test", dtype_of<T>, data.data(), {columns, rows, 1, 1}, {1, columns, 0, 0}, box_rows);
}

// Whole numbers, so that sums are exact. `missing`: rows of b that are not there, and count as zeros.
template <class T, int kColumns, bool kHeld, Fault kFault = Fault::kNone>
void check_product(int missing = 0) {
  int b_rows = kHeld ? kDepth : kColumns, b_columns = kHeld ? kColumns : kDepth;
  auto a = whole_numbers<T>(kGroupRows * kDepth, 7, 31), b = whole_numbers<T>(b_rows * b_columns, 11, 29);
  DeviceArray<T> on_a(a), on_b(b);
  DeviceArray<float> out(kGroupRows * kColumns);
  Maps maps{matrix(on_a, kGroupRows, kDepth, kGroupRows), matrix(on_b, b_rows - missing, b_columns, b_rows)};
  unsigned bytes = kTileAlignment + (kGroupRows * kDepth + b_rows * b_columns) * 2 + 1024;
  launch_on(nullptr, "multiply", multiply<T, kColumns, kHeld, kFault>, {1, kGroupThreads, bytes}, maps,
            on_a.data(), out.data());
  std::vector<float> got = out.values();
  for (int row = 0; row < kGroupRows; row++)
    for (int column = 0; column < kColumns; column++) {
      float expected = 0;
      for (int k = 0; k < kDepth; k++) {
        if ((kHeld ? k : column) >= b_rows - missing) continue;
        expected += static_cast<float>(a[row * kDepth + k]) *
                    static_cast<float>(b[kHeld ? k * kColumns + column : column * kDepth + k]);
      }
      CHECK_EQ(got[row * kColumns + column], expected);
    }
}

constexpr int kRing = 2, kRounds = 4;

// One thread copies tiles into a ring, a group adds up what it multiplies them with.
template <Fault kFault>
__global__ void go_round(const __grid_constant__ Maps maps, float* out) {
  constexpr int kTileBytes = kGroupRows * kDepth * 2;
  char* tiles = dynamic_shared<char>();
  tiles += (kTileAlignment - reinterpret_cast<uintptr_t>(tiles) % kTileAlignment) % kTileAlignment;
  TW_SHARED(Barrier, there, kRing);
  TW_SHARED(Barrier, free, kRing);
  if (threadIdx.x == 0)
    for (int i = 0; i < kRing; i++) begin_barrier(there + i, 1), begin_barrier(free + i, 4);
  publish_barriers();
  __syncthreads();
  if (threadIdx.x >= kGroupThreads) {
    if (threadIdx.x == kGroupThreads)
      for (int t = 0; t < kRounds; t++) {
        if constexpr (kFault != Fault::kEarly) wait_for(free + t % kRing, t / kRing - 1);
        arrive_and_expect(there + t % kRing, kTileBytes);
        copy_tile(tiles + t % kRing * kTileBytes, maps.a, 0, t * kGroupRows, 0, 0, there + t % kRing);
      }
    return;
  }
  float sums[kGroupRows / 8][4] = {};
  for (int t = 0; t < kRounds; t++) {
    wait_for(there + t % kRing, t / kRing);
    TileFactor tile = tile_factor(tiles + t % kRing * kTileBytes, 0);
    begin_products();
    multiply_tiles<float16>(sums, tile, tile, true);
    end_products();
    bool early = kFault == Fault::kArrive && lane_index() == 0;
    if (early) arrive(free + t % kRing);
    wait_for_products<0>();
    if (!early && lane_index() == 0) arrive(free + t % kRing);
  }
  if (threadIdx.x == 0) out[0] = sums[0][0];
}

template <Fault kFault = Fault::kNone>
float gone_round() {
  auto a = whole_numbers<float16>(kRounds * kGroupRows * kDepth, 1, 3);
  DeviceArray<float16> on_a(a);
  DeviceArray<float> out(1);
  TensorMap map = matrix(on_a, kRounds * kGroupRows, kDepth, kGroupRows);
  launch_on(nullptr, "ring", go_round<kFault>, {1, 2 * kGroupThreads, 3 * 8192}, Maps{map, map}, out.data());
  return out.values()[0];
}

}  // namespace

TEST(products_of_tiles_are_products) {
  check_product<float16, 64, false>();
  check_product<bfloat16, 64, false>();
  check_product<float16, 128, false>();
  check_product<bfloat16, 128, false>();
}

TEST(products_with_held_factors_are_products) {
  check_product<float16, 64, true>();
  check_product<bfloat16, 64, true>();
  check_product<float16, 128, true>();
  check_product<bfloat16, 128, true>();
}

TEST(what_lies_outside_of_a_tensor_is_zero) {
  check_product<float16, 128, false>(37);
  check_product<float16, 128, true>(37);
}

TEST(rings_of_tiles_go_round) {
  float expected = 0;
  for (int t = 0; t < kRounds; t++)
    for (int k = 0; k < 16; k++) {
      float x = static_cast<float>((t * kGroupRows * kDepth + k) % 3 - 1);
      expected += x * x;
    }
  CHECK_EQ(gone_round(), expected);
}

TEST(faulty_groups_are_told) {
  CHECK_THROWS(Error, (check_product<float16, 64, false, Fault::kWaitTile>()), "which nobody has waited for");
  CHECK_THROWS(Error, (check_product<float16, 64, false, Fault::kExpect>()), "for a phase that never ends");
  CHECK_THROWS(Error, (check_product<float16, 64, false, Fault::kWaitProduct>()),
               "returns while products of its group go on");
  CHECK_THROWS(Error, (check_product<float16, 64, false, Fault::kOneWarp>()), "and others of its group not");
  CHECK_THROWS(Error, (check_product<float16, 64, false, Fault::kSync>()),
               "races: it reads shared memory that");
  CHECK_THROWS(Error, (check_product<float16, 64, false, Fault::kAlign>()), "is no multiple of them");
  CHECK_THROWS(Error, gone_round<Fault::kEarly>(), "arrives at a barrier that all have arrived at");
  CHECK_THROWS(Error, gone_round<Fault::kArrive>(), "may still multiply with");
}

TEST(tensors_that_cannot_be_copied_by_tiles_are_refused) {
  DeviceArray<float16> data(64 * 68);
  CHECK_THROWS(Error, tensor_map("test", DType::kFloat16, data.data(), {64, 64, 1, 1}, {1, 68, 0, 0}, 64),
               "test: the driver cannot copy tiles of a tensor of [64, 64, 1, 1] elements");
}

}  // namespace tw::cuda

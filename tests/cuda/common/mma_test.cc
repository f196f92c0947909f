// The layouts of the warp's matrix operations, element by element, and the faults that they tell.
#include "cuda/common/mma.h"

#include "base/error.h"
#include "cuda/common/launch.h"
#include "cuda/common/warp.h"
#include "test.h"
#include "tests/cuda/common/device_array.h"

namespace tw::cuda {

namespace {

constexpr int kRows = 16, kColumns = 8, kDepth = 16;

// Registers as PTX numbers their halves: a0 to a7, b0 to b3, c0 to c3 of a lane, from row-major memory.
template <class T>
__global__ void multiply_by_layout(const T* a, const T* b, const float* c, float* out) {
  int lane = lane_index(), group = lane >> 2, in_group = lane & 3;
  T of_a[8], of_b[4];
  for (int i = 0; i < 8; i++) {
    int row = (i < 2 || (i >= 4 && i < 6)) ? group : group + 8;
    int column = in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0);
    of_a[i] = a[row * kDepth + column];
  }
  for (int i = 0; i < 4; i++) {
    int row = in_group * 2 + (i & 1) + (i >= 2 ? 8 : 0);
    of_b[i] = b[row * kColumns + group];
  }
  uint32_t a_registers[4], b_registers[2];
  for (int i = 0; i < 4; i++) a_registers[i] = of_a[2 * i].bits | uint32_t{of_a[2 * i + 1].bits} << 16;
  for (int i = 0; i < 2; i++) b_registers[i] = of_b[2 * i].bits | uint32_t{of_b[2 * i + 1].bits} << 16;
  float sums[4];
  for (int i = 0; i < 4; i++) sums[i] = c[(i < 2 ? group : group + 8) * kColumns + in_group * 2 + (i & 1)];
  mma_16x8x16<T>(sums, a_registers, b_registers[0], b_registers[1]);
  for (int i = 0; i < 4; i++) out[(i < 2 ? group : group + 8) * kColumns + in_group * 2 + (i & 1)] = sums[i];
}

// Every element is a whole number that both half types hold, so that the product is exact.
template <class T>
void check_product() {
  auto a = whole_numbers<T>(kRows * kDepth, 7, 31), b = whole_numbers<T>(kDepth * kColumns, 11, 29);
  auto c = whole_numbers<float>(kRows * kColumns, 5, 101);
  DeviceArray<T> on_a(a), on_b(b);
  DeviceArray<float> on_c(c), out(c.size());
  launch_on(nullptr, "mma", multiply_by_layout<T>, {1, kLanes}, on_a.data(), on_b.data(), on_c.data(),
            out.data());
  std::vector<float> got = out.values();
  for (int row = 0; row < kRows; row++)
    for (int column = 0; column < kColumns; column++) {
      float expected = c[row * kColumns + column];
      for (int k = 0; k < kDepth; k++)
        expected += static_cast<float>(a[row * kDepth + k]) * static_cast<float>(b[k * kColumns + column]);
      CHECK_EQ(got[row * kColumns + column], expected);
    }
}

enum class Fault { kNone, kBarrier, kAddress, kPlace, kLanes };

// Four matrices that lie one below the other, 32 rows of 8 numbers, into the lanes' registers.
template <bool kTransposed, Fault kFault = Fault::kNone>
__global__ void load_four(uint32_t* out, const uint16_t* global) {
  TW_SHARED(uint16_t, tile, 32 * 8 + 8);
  for (int i = 0; i < 8; i++) tile[threadIdx.x * 8 + i] = static_cast<uint16_t>(threadIdx.x * 8 + i);
  if constexpr (kFault != Fault::kBarrier) __syncwarp();
  const uint16_t* row = tile + threadIdx.x * 8 + (kFault == Fault::kAddress ? 4 : 0);
  if constexpr (kFault == Fault::kPlace) row = global;
  uint32_t registers[4] = {};
  if (kFault == Fault::kLanes && threadIdx.x == 5) return;
  if constexpr (kTransposed)
    load_matrices_transposed(registers, row);
  else
    load_matrices(registers, row);
  for (int m = 0; m < 4; m++) out[threadIdx.x * 4 + m] = registers[m];
}

template <bool kTransposed, Fault kFault = Fault::kNone>
std::vector<uint32_t> loaded() {
  DeviceArray<uint32_t> out(kLanes * 4);
  DeviceArray<uint16_t> global(64);
  launch_on(nullptr, "load", load_four<kTransposed, kFault>, {1, kLanes}, out.data(), global.data());
  return out.values();
}

template <class T>
__global__ void pack_pairs(uint32_t* out) {
  out[threadIdx.x] = pack_pair<T>(static_cast<float>(threadIdx.x), -0.5f);
}

}  // namespace

TEST(products_of_fragments_are_products) {
  check_product<float16>();
  check_product<bfloat16>();
}

TEST(matrices_lie_in_registers_as_ptx_says) {
  std::vector<uint32_t> plain = loaded<false>(), transposed = loaded<true>();
  for (uint32_t lane = 0; lane < kLanes; lane++)
    for (uint32_t m = 0; m < 4; m++) {
      uint32_t first = m * 64 + lane / 4 * 8 + lane % 4 * 2;
      CHECK_EQ(plain[lane * 4 + m], first | (first + 1) << 16);
      uint32_t upper = m * 64 + lane % 4 * 2 * 8 + lane / 4;
      CHECK_EQ(transposed[lane * 4 + m], upper | (upper + 8) << 16);
    }
}

TEST(faulty_loads_of_matrices_are_told) {
  CHECK_THROWS(Error, (loaded<false, Fault::kBarrier>()), "races: it reads shared memory that");
  CHECK_THROWS(Error, (loaded<true, Fault::kAddress>()),
               "accesses 16 bytes at an address that is no multiple");
  CHECK_THROWS(Error, (loaded<false, Fault::kPlace>()), "loads a matrix from an address outside of shared");
  CHECK_THROWS(Error, (loaded<false, Fault::kLanes>()), "a lane returned before a warp call");
}

TEST(pairs_hold_the_first_value_below) {
  DeviceArray<uint32_t> out(kLanes);
  launch_on(nullptr, "pack", pack_pairs<float16>, {1, kLanes}, out.data());
  CHECK_EQ(out.values()[1], uint32_t{float16(1.0f).bits} | uint32_t{float16(-0.5f).bits} << 16);
  launch_on(nullptr, "pack", pack_pairs<bfloat16>, {1, kLanes}, out.data());
  CHECK_EQ(out.values()[3], uint32_t{bfloat16(3.0f).bits} | uint32_t{bfloat16(-0.5f).bits} << 16);
}

}  // namespace tw::cuda

// Faults seeded into small kernels: each must be told, with the thread and the reason; and the kernels
// without them must pass.
#include "base/error.h"
#include "cuda/common/atomic.h"
#include "cuda/common/launch.h"
#include "cuda/common/vector.h"
#include "cuda/common/warp.h"
#include "test.h"
#include "tests/cuda/common/device_array.h"
#include "tests/cuda/emulator/memory.h"

namespace tw::cuda {

namespace {

constexpr int kThreads = 64;
enum class Unset { kUnset };

std::vector<float> numbers(int count) {
  std::vector<float> values(count);
  for (int i = 0; i < count; i++) values[i] = static_cast<float>(i);
  return values;
}

// Device memory with the floats 0, 1, 2, ..., or unset ones.
struct Floats : DeviceArray<float> {
  explicit Floats(int count) : DeviceArray(numbers(count)) {}
  Floats(int count, Unset) : DeviceArray(static_cast<size_t>(count)) {}
};

enum class Fault { kNone, kBarrier, kBound, kMask };

// Reverses every block's numbers through shared memory.
template <Fault kFault>
__global__ void reverse(const float* in, float* out, int count) {
  TW_SHARED(float, tile, kThreads);
  int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  tile[threadIdx.x] = i < count + (kFault == Fault::kBound) ? in[i] : 0;
  if constexpr (kFault != Fault::kBarrier) __syncthreads();
  float value = tile[kThreads - 1 - threadIdx.x];
  if (i < count) out[i] = value;
}

template <Fault kFault>
__global__ void sum(const float* in, float* out) {
  float value = in[threadIdx.x];
  constexpr unsigned kMask = kFault == Fault::kMask ? 0xffff : kFullMask;
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_xor_sync(kMask, value, lanes);
  if (threadIdx.x == 0) *out = value;
}

template <Fault kFault>
std::vector<float> reversed(int count) {
  Floats in(count), out(count);
  unsigned blocks = (count + kThreads - 1) / kThreads;
  launch_on(nullptr, "reverse", reverse<kFault>, {blocks, kThreads}, in.data(), out.data(), count);
  return out.values();
}

template <Fault kFault>
float summed() {
  Floats in(32), out(1);
  launch_on(nullptr, "sum", sum<kFault>, {1, 32}, in.data(), out.data());
  return out.values()[0];
}

}  // namespace

TEST(kernels_without_faults_pass) {
  CHECK_EQ(reversed<Fault::kNone>(128)[0], 63);
  CHECK_EQ(reversed<Fault::kNone>(100)[1], 62);
  CHECK_EQ(summed<Fault::kNone>(), 496);
}

TEST(a_missing_barrier_is_a_race) {
  CHECK_THROWS(Error, reversed<Fault::kBarrier>(128),
               "reverse: thread 0 of block 0 reads 4 bytes of shared memory that nothing");
}

TEST(an_off_by_one_bound_is_told) {
  CHECK_THROWS(Error, reversed<Fault::kBound>(100),
               "thread 36 of block 1 reads 4 bytes of device memory that are nobody's: 0 bytes past the end "
               "of a block of 400");
}

TEST(a_wrong_shuffle_mask_is_told) { CHECK_THROWS(Error, summed<Fault::kMask>(), "a mask that is not full"); }

namespace {

template <int kSecondBarrier>
__global__ void two_rounds(float* out) {
  TW_SHARED(float, tile, kThreads);
  float total = 0;
  for (int round = 0; round < 2; round++) {
    tile[threadIdx.x] = static_cast<float>(round);
    __syncthreads();
    total += tile[kThreads - 1 - threadIdx.x];
    if constexpr (kSecondBarrier) __syncthreads();
  }
  out[threadIdx.x] = total;
}

template <int kWarpBarrier>
__global__ void between_lanes(float* out) {
  TW_SHARED(float, tile, kThreads);
  tile[threadIdx.x] = static_cast<float>(threadIdx.x);
  __syncthreads();
  float other = tile[threadIdx.x ^ 1];
  if constexpr (kWarpBarrier) __syncwarp();
  tile[threadIdx.x] = other;
  out[threadIdx.x] = other;
}

__global__ void neighbours_of_other_warps(float* out) {
  TW_SHARED(float, tile, kThreads);
  tile[threadIdx.x] = 1;
  __syncthreads();
  float other = tile[(threadIdx.x + 32) % kThreads];
  __syncwarp();
  tile[threadIdx.x] = other;
  out[threadIdx.x] = other;
}

template <bool kAtomic>
__global__ void count_threads(float* out) {
  TW_SHARED(int, total, 1);
  if (threadIdx.x == 0) *total = 0;
  __syncthreads();
  if constexpr (kAtomic)
    atomic_add(total, 1);
  else
    *total += 1;
  __syncthreads();
  out[threadIdx.x] = static_cast<float>(*total);
}

template <class... Params, class... Args>
std::vector<float> run_alone(void (*kernel)(Params...), unsigned threads, Args... args) {
  Floats out(kThreads);
  launch_on(nullptr, "kernel", kernel, {1, threads, 256}, out.data(), args...);
  return out.values();
}

}  // namespace

TEST(races_in_shared_memory_are_told) {
  CHECK_EQ(run_alone(two_rounds<1>, kThreads)[0], 1);
  CHECK_THROWS(Error, run_alone(two_rounds<0>, kThreads), "races: it reads shared memory that");
  CHECK_EQ(run_alone(between_lanes<1>, kThreads)[0], 1);
  CHECK_THROWS(Error, run_alone(between_lanes<0>, kThreads), "races: it reads shared memory that");
  CHECK_THROWS(Error, run_alone(neighbours_of_other_warps, kThreads), "races: it writes shared memory that");
  CHECK_EQ(run_alone(count_threads<true>, kThreads)[5], 64);
  CHECK_THROWS(Error, run_alone(count_threads<false>, kThreads), "races: it ");
}

namespace {

__global__ void divergent_barriers(float* out) {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads();
  out[threadIdx.x] = 0;
}

__global__ void early_return(float* out) {
  if (threadIdx.x == 40) return;
  __syncthreads();
  out[threadIdx.x] = 0;
}

__global__ void return_before_shuffle(float* out) {
  if (threadIdx.x == 3) return;
  out[threadIdx.x] = shuffle_xor(1.0f, 1);
}

__global__ void shuffle_against_barrier(float* out) {
  if (threadIdx.x % 2)
    out[threadIdx.x] = shuffle_xor(1.0f, 1);
  else
    __syncthreads();
}

}  // namespace

TEST(threads_that_wait_for_each_other_are_told) {
  CHECK_THROWS(Error, run_alone(divergent_barriers, kThreads), "threads stand at different barriers");
  CHECK_THROWS(Error, run_alone(early_return, kThreads), "a thread returned before a barrier");
  CHECK_THROWS(Error, run_alone(return_before_shuffle, kThreads), "a lane returned before a warp call");
  CHECK_THROWS(Error, run_alone(shuffle_against_barrier, kThreads),
               "threads wait for each other in different calls");
  CHECK_THROWS(Error, run_alone(early_return, 48), "blocks of 48 threads");
}

namespace {

__global__ void copy_all(float* out, const float* in, int count) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) out[i] = in[i];
}

__global__ void wide_copy(float* out, const float* in) { store_pack(out, load_pack<4>(in)); }

__global__ void past_shared(float* out, int at) {
  TW_SHARED(float, first, kThreads);
  TW_SHARED(float, second, kThreads);
  first[threadIdx.x] = second[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = first[threadIdx.x + at];
}

__global__ void dynamic(float* out, int count) {
  float* values = dynamic_shared<float>();
  values[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = values[count - 1 - threadIdx.x];
}

}  // namespace

TEST(device_memory_is_watched) {
  Floats in(64), unset(64, Unset::kUnset), small(48);
  CHECK_EQ(run_alone(copy_all, 32, in.data(), 64)[63], 63);
  CHECK_THROWS(Error, run_alone(copy_all, 32, unset.data(), 64), "device memory that nothing was written to");
  CHECK_THROWS(Error, run_alone(copy_all, 32, small.data(), 64),
               "0 bytes past the end of a block of 192 bytes");
  float* gone = Floats(4096).data() + 2048;
  CHECK_THROWS(Error, run_alone(copy_all, 32, gone, 64), "device memory that are nobody's");
  std::vector<float> on_host(64);
  CHECK_THROWS(Error, run_alone(copy_all, 32, on_host.data(), 64), "touches 4 bytes of the host's memory");
  CHECK_THROWS(Error, run_alone(wide_copy, 32, in.data() + 1),
               "accesses 16 bytes at an address that is no multiple");
}

TEST(kernels_touch_memory_of_their_device_alone) {
  Floats in(64);
  check(cudaSetDevice(1), "device 1");
  CHECK_THROWS(Error, run_alone(copy_all, 32, in.data(), 64), "reads memory of device 0 on device 1");
  check(cudaSetDevice(0), "device 0");
}

TEST(shared_memory_is_watched) {
  CHECK_EQ(run_alone(past_shared, kThreads, 0)[0], 1);
  CHECK_THROWS(Error, run_alone(past_shared, kThreads, 1), "outside of every array in shared memory");
  CHECK_EQ(run_alone(dynamic, kThreads, 64)[0], 1);
  CHECK_THROWS(Error, run_alone(dynamic, kThreads, 65), "outside of every array in shared memory");
}

TEST(marked_memory_is_a_tensors) {
  Floats block(64);
  mark_free(block.data(), 256);
  CHECK_THROWS(Error, run_alone(copy_all, 32, block.data(), 4), "are nobody's");
  mark_allocated(block.data(), 20);
  CHECK_THROWS(Error, run_alone(copy_all, 32, block.data(), 5), "nothing was written to");
  check(cudaMemsetAsync(block.data(), 0, 20, nullptr), "set");
  CHECK_EQ(run_alone(copy_all, 32, block.data(), 5)[4], 0);
  CHECK_THROWS(Error, run_alone(copy_all, 32, block.data(), 6),
               "0 bytes past the end of a block of 20 bytes");
}

namespace {

template <int kBlock>
__global__ void total_of_block(float* out) {
  float total =
      block_reduce<kBlock>(static_cast<float>(threadIdx.x), 0.0f, [](float a, float b) { return a + b; });
  float most = block_reduce<kBlock>(total, 0.0f, [](float a, float b) { return a > b ? a : b; });
  out[threadIdx.x] = most;
}

}  // namespace

TEST(blocks_reduce) {
  CHECK_EQ(run_alone(total_of_block<32>, 32)[7], 496);
  CHECK_EQ(run_alone(total_of_block<64>, 64)[63], 2016);
}

}  // namespace tw::cuda

// Asynchronous copies arrive when they are waited for, and no sooner.
#include "cuda/common/async_copy.h"

#include "base/error.h"
#include "cuda/common/launch.h"
#include "test.h"
#include "tests/cuda/common/device_array.h"

namespace tw::cuda {

namespace {

constexpr int kThreads = 64;
constexpr int kEach = 4;  // floats that a thread copies: 16 bytes

enum class Fault { kNone, kWait, kBarrier, kLeft, kAddress, kSource, kTarget, kOverwrite };

// Reverses the first `count` floats by way of shared memory, in two groups of copies; zeros beyond them.
template <Fault kFault>
__global__ void reverse(const float* in, float* out, int count) {
  constexpr int kHalf = kThreads * kEach;
  TW_SHARED(float, tile, 2 * kHalf);
  int at = static_cast<int>(threadIdx.x) * kEach;
  for (int group = 0; group < 2; group++) {
    int first = group * kHalf + at;
    bool inside = first < count;
    const float* from = in + (inside || kFault == Fault::kSource ? first : 0);
    float* to = kFault == Fault::kTarget ? out + first : tile + first;
    copy_async<16>(to, from + (kFault == Fault::kAddress), inside || kFault == Fault::kSource);
    commit_copies();
  }
  if constexpr (kFault == Fault::kOverwrite) tile[at] = 1;
  if constexpr (kFault == Fault::kLeft)
    wait_for_copies<1>();
  else if constexpr (kFault != Fault::kWait)
    wait_for_copies<0>();
  if constexpr (kFault != Fault::kBarrier) __syncthreads();
  for (int i = 0; i < 2 * kEach; i++) {
    int to = static_cast<int>(threadIdx.x) + i * kThreads;
    out[to] = tile[2 * kHalf - 1 - to];
  }
}

std::vector<float> numbers(int count) {
  std::vector<float> values;
  for (int i = 0; i < count; i++) values.push_back(static_cast<float>(i + 1));
  return values;
}

template <Fault kFault>
std::vector<float> reversed(int count) {
  DeviceArray<float> in(numbers(count)), out(2 * kThreads * kEach);
  launch_on(nullptr, "reverse", reverse<kFault>, {1, kThreads}, in.data(), out.data(), count);
  return out.values();
}

// Reads one of two groups while the newer one goes on: what the thread itself or the one before it copied.
template <int kGroup, int kBack>
__global__ void read_one_group(const float* in, float* out) {
  TW_SHARED(float, tile, 2 * kThreads);
  for (int group = 0; group < 2; group++) {
    copy_async<4>(tile + group * kThreads + threadIdx.x, in + group * kThreads + threadIdx.x, true);
    commit_copies();
  }
  wait_for_copies<1>();
  int thread = static_cast<int>(threadIdx.x);
  out[thread] = tile[kGroup * kThreads + (thread < kBack ? 0 : thread - kBack)];
  wait_for_copies<0>();
}

template <int kGroup, int kBack = 0>
std::vector<float> of_group() {
  DeviceArray<float> in(numbers(2 * kThreads)), out(kThreads);
  launch_on(nullptr, "group", read_one_group<kGroup, kBack>, {1, kThreads}, in.data(), out.data());
  return out.values();
}

__global__ void begin_and_return(const float* in) {
  TW_SHARED(float, tile, kThreads);
  copy_async<4>(tile + threadIdx.x, in + threadIdx.x, true);
}

}  // namespace

TEST(copies_arrive_and_are_filled_with_zeros) {
  std::vector<float> got = reversed<Fault::kNone>(300);
  CHECK_EQ(got[511], 1);
  CHECK_EQ(got[212], 300);
  CHECK_EQ(got[211], 0);
}

TEST(groups_arrive_in_their_order) {
  CHECK_EQ(of_group<0>()[5], 6);
  CHECK_THROWS(Error, of_group<1>(), "which nobody has waited for");
  CHECK_THROWS(Error, (of_group<0, 1>()), "races: it reads shared memory that thread 0 has written");
}

TEST(faulty_copies_are_told) {
  CHECK_THROWS(
      Error, reversed<Fault::kWait>(512),
      "reads shared memory that an asynchronous copy of thread 63 fills, which nobody has waited for");
  CHECK_THROWS(Error, reversed<Fault::kLeft>(512), "which nobody has waited for");
  CHECK_THROWS(Error, reversed<Fault::kBarrier>(512), "shared memory that nothing was written to");
  CHECK_THROWS(Error, reversed<Fault::kOverwrite>(512), "writes shared memory that an asynchronous copy");
  CHECK_THROWS(Error, reversed<Fault::kAddress>(512), "accesses 16 bytes at an address that is no multiple");
  CHECK_THROWS(Error, reversed<Fault::kSource>(300), "bytes of device memory that are nobody's");
  CHECK_THROWS(Error, reversed<Fault::kTarget>(512), "to an address outside of shared memory");
  DeviceArray<float> in(numbers(kThreads));
  CHECK_THROWS(Error, launch_on(nullptr, "return", begin_and_return, {1, kThreads}, in.data()),
               "returns while 1 of its asynchronous copies go on");
}

}  // namespace tw::cuda

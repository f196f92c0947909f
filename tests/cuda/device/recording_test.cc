#include "cuda/device/recording.h"

#include "base/error.h"
#include "cuda/common/flag.h"
#include "cuda/device/cuda_backend.h"
#include "device/recording.h"
#include "test.h"
#include "tests/cuda/common/device_array.h"

namespace tw::cuda {

namespace {

__global__ void add_kernel(int* to, int number) { to[threadIdx.x] += number; }
__global__ void double_kernel(int* to) { to[threadIdx.x] *= 2; }
__global__ void scratch_kernel(int* scratch, int* to, int number) {
  scratch[threadIdx.x] = number;
  __syncthreads();
  to[threadIdx.x] += scratch[(threadIdx.x + 1) % 32];
}

void add(int* to, int number) { launch("add", add_kernel, {1, 32}, to, number); }
std::vector<int> all(int value) { return std::vector<int>(32, value); }

device::Recorders& recorders() { return dynamic_cast<device::Recorders&>(backend()); }

}  // namespace

TEST(pieces_run_in_their_order_when_they_are_told_to) {
  DeviceArray<int> array(all(1));
  Ref<device::Recording> recording = recorders().make_recorder(0)->make_recording();
  CHECK(recording->record(0, [&] { add(array.data(), 3); }));
  CHECK(recording->record(1, [&] { launch("double", double_kernel, {1, 32}, array.data()); }));
  CHECK(array.values() == all(1));
  recording->run(backend().current_stream(0));
  CHECK(array.values() == all(8));
  recording->run(backend().current_stream(0));
  CHECK(array.values() == all(22));
}

TEST(a_piece_is_recorded_anew) {
  DeviceArray<int> first(all(0)), second(all(0));
  Ref<device::Recording> recording = recorders().make_recorder(0)->make_recording();
  for (size_t i = 0; i < 3; i++) recording->record(i, [&] { add(first.data(), 1); });
  recording->run(backend().current_stream(0));
  // Other arguments; other kernels; none; some again.
  recording->record(1, [&] { add(second.data(), 5); });
  recording->run(backend().current_stream(0));
  CHECK(first.values() == all(5));
  CHECK(second.values() == all(5));
  recording->record(1, [&] {
    launch("double", double_kernel, {1, 32}, second.data());
    add(second.data(), 1);
  });
  recording->run(backend().current_stream(0));
  CHECK(second.values() == all(11));
  recording->record(1, [] {});
  recording->run(backend().current_stream(0));
  CHECK(second.values() == all(11));
  recording->record(1, [&] { add(second.data(), 1); });
  recording->run(backend().current_stream(0));
  CHECK(second.values() == all(12));
  CHECK(first.values() == all(11));
}

TEST(what_waits_is_not_recorded) {
  DeviceArray<int> array(all(1));
  Ref<device::Recording> recording = recorders().make_recorder(0)->make_recording();
  CHECK(recording->record(0, [&] { add(array.data(), 1); }));
  CHECK(!recording->record(1, [&] { read_one(array.data()); }));
  // What else fails is told, and the thread works as before.
  CHECK_THROWS(Error, recording->record(1, [] { TW_FAIL(kValue, "no"); }), "no");
  CHECK(recording->record(1, [&] { add(array.data(), 2); }));
  CHECK(array.values() == all(1));
  recording->run(backend().current_stream(0));
  CHECK(array.values() == all(4));
  CHECK_EQ(read_one(array.data()), 4);
}

TEST(memory_of_a_recording_is_given_to_nobody_else) {
  DeviceArray<int> array(all(0));
  Ref<device::Recording> recording = recorders().make_recorder(0)->make_recording();
  void* inside = nullptr;
  recording->record(0, [&] {
    DeviceScratch scratch(32 * sizeof(int));
    inside = scratch.as<void>();
    launch("scratch", scratch_kernel, {1, 32}, scratch.as<int>(), array.data(), 7);
  });
  backend().empty_cache(0);
  for (int i = 0; i < 100; i++) {
    DeviceScratch other(32 * sizeof(int));
    CHECK(other.as<void>() != inside);
  }
  int64_t reserved = backend().memory_stats(0).reserved_bytes;
  recording->run(backend().current_stream(0));
  CHECK(array.values() == all(7));
  recording = nullptr;
  backend().empty_cache(0);
  CHECK(backend().memory_stats(0).reserved_bytes < reserved);
}

}  // namespace tw::cuda

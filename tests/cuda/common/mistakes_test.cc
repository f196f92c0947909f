// Notes of kernels are told once, by the op and the kind of mistake, and threads may write them side by side.
#include "cuda/common/mistakes.h"

#include "base/error.h"
#include "cuda/common/launch.h"
#include "test.h"
#include "tests/cuda/common/device_array.h"

namespace tw::cuda {

namespace {

constexpr int kThreads = 64;

__global__ void find_large(const int64_t* values, int64_t limit, MistakeNote note) {
  int64_t value = values[threadIdx.x];
  if (value >= limit) note(value, limit);
}

void too_large(const char* op, int64_t value, int64_t limit) {
  TW_FAIL(kIndex, op, ": ", value, " is not below ", limit);
}
void anything(const char* op, int64_t, int64_t) { TW_FAIL(kRuntime, op, ": something is wrong"); }

void run(MistakeNote note, int64_t limit) {
  std::vector<int64_t> values(kThreads, 1);
  values[7] = values[40] = 9;
  DeviceArray<int64_t> on_device(values);
  launch_on(nullptr, "find_large", find_large, {1, kThreads}, on_device.data(), limit, note);
}

}  // namespace

TEST(mistakes_are_told_once) {
  run(mistake_note("one", too_large), 10);
  check_mistakes();
  run(mistake_note("one", too_large), 5);
  CHECK_THROWS(Error, check_mistakes(), "one: 9 is not below 5");
  check_mistakes();
}

TEST(of_several_mistakes_one_is_told) {
  run(mistake_note("one", too_large), 0);
  run(mistake_note("two", too_large), 5);
  run(mistake_note("two", anything), 5);
  CHECK_THROWS(Error, check_mistakes(), "one: 1 is not below 0");
  check_mistakes();
  run(mistake_note("two", anything), 5);
  CHECK_THROWS(Error, check_mistakes(), "two: something is wrong");
}

TEST(a_note_stays_where_it_is) {
  MistakeNote note = mistake_note("kept", too_large);
  for (int i = 0; i < 3; i++) mistake_note("kept", anything);
  CHECK(mistake_note("kept", too_large).at == note.at);
  CHECK(mistake_note("kept", anything).at != note.at);
}

}  // namespace tw::cuda

#include "device/cpu/arg_reduce.h"

#include <cmath>
#include <limits>

#include "device/arrays.h"
#include "device/cpu/parallel.h"
#include "test.h"

namespace tw::device {

using test::Array;
using test::random_array;

namespace {

template <class T>
bool is_nan(T value) {
  return value != value;
}

template <class T>
void check(const Array& in, int dim, bool largest, bool keepdim) {
  Dims kept;
  int64_t inner = 1, n = dim < 0 ? in.count() : in.sizes[dim];
  for (size_t d = 0; d < in.sizes.size(); d++) {
    bool reduced = dim < 0 || static_cast<int>(d) == dim;
    if (!reduced || keepdim) kept.push_back(reduced ? 1 : in.sizes[d]);
    if (dim >= 0 && static_cast<int>(d) > dim) inner *= in.sizes[d];
  }
  Array values(in.dtype, kept), indices(DType::kInt64, kept), alone(DType::kInt64, kept);
  Operand values_op = values.operand(), indices_op = indices.operand(), alone_op = alone.operand();
  arg_reduce(in.operand(), &values_op, &indices_op, dim, largest);
  arg_reduce(in.operand(), nullptr, &alone_op, dim, largest);
  for (int64_t o = 0; o < values.count(); o++) {
    int64_t base = o / inner * inner * n + o % inner, best = 0;
    for (int64_t i = 1; i < n; i++) {
      compute_t<T> x = in.get<T>(base + i * inner), y = in.get<T>(base + best * inner);
      if (is_nan(y)) break;
      if (is_nan(x) || (largest ? x > y : x < y)) best = i;
    }
    CHECK_EQ(indices.get<int64_t>(o), best);
    CHECK_EQ(alone.get<int64_t>(o), best);
    compute_t<T> wanted = in.get<T>(base + best * inner), got = values.get<T>(o);
    CHECK(got == wanted || (is_nan(got) && is_nan(wanted)));
  }
}

template <class T>
void check_shapes() {
  for (bool largest : {true, false}) {
    for (int64_t n : {1, 2, 63, 64, 300, 70000}) {
      check<T>(random_array<T>({n}, 1, 0, 100), 0, largest, false);
      check<T>(random_array<T>({n}, 2, 0, 100), -1, largest, true);
    }
    Array base = random_array<T>({20, 30, 40}, 3, 0, 60);
    for (int dim = -1; dim < 3; dim++) {
      check<T>(base, dim, largest, true);
      check<T>(base.permuted({1, 2, 0}), dim, largest, false);
      check<T>(base.sliced(1, 1, 30, 3), dim, largest, false);
    }
    check<T>(random_array<T>({}, 1), -1, largest, false);
  }
}

}  // namespace

TEST(arg_reduce_float) { check_shapes<float>(); }
TEST(arg_reduce_double) { check_shapes<double>(); }
TEST(arg_reduce_half) { check_shapes<float16>(); }
TEST(arg_reduce_int64) { check_shapes<int64_t>(); }
TEST(arg_reduce_uint8) { check_shapes<uint8_t>(); }

TEST(arg_reduce_puts_the_first_nan_first) {
  int before = num_threads();
  for (int threads : {1, 4}) {
    set_num_threads(threads);
    for (bool largest : {true, false}) {
      Array in = random_array<float>({100000}, 1);
      in.get<float>(77777) = -std::numeric_limits<float>::quiet_NaN();
      in.get<float>(90000) = std::numeric_limits<float>::quiet_NaN();
      check<float>(in, -1, largest, false);
      check<float>(in, 0, largest, false);
      in.get<float>(500) = std::numeric_limits<float>::infinity();
      check<float>(in, -1, largest, false);
      Array rows = random_array<float>({50, 70}, 2);
      for (int64_t i = 0; i < 50; i += 3)
        rows.get<float>(i * 70 + i) = std::numeric_limits<float>::quiet_NaN();
      check<float>(rows, 0, largest, false);
      check<float>(rows, 1, largest, true);
    }
  }
  set_num_threads(before);
}

TEST(arg_reduce_of_bools_and_infinities) {
  Array flags(DType::kBool, {200}), index(DType::kInt64, {});
  flags.get<uint8_t>(150) = 1;
  flags.get<uint8_t>(170) = 3;
  Operand index_op = index.operand();
  arg_reduce(flags.operand(), nullptr, &index_op, kAllDims, true);
  CHECK_EQ(index.get<int64_t>(0), 150);
  Array low(DType::kFloat32, {90});
  for (int64_t i = 0; i < 90; i++) low.get<float>(i) = -std::numeric_limits<float>::infinity();
  check<float>(low, 0, true, false);
}

}  // namespace tw::device

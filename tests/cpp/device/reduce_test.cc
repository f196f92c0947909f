#include "device/cpu/reduce.h"

#include <cmath>
#include <limits>
#include <map>

#include "device/arrays.h"
#include "device/cpu/parallel.h"
#include "test.h"

namespace tw::device {

using test::Array;
using test::random_array;

namespace {

Dims kept_sizes(const Dims& sizes, uint64_t mask, bool keepdim) {
  Dims kept;
  for (size_t d = 0; d < sizes.size(); d++) {
    if (!(mask >> d & 1))
      kept.push_back(sizes[d]);
    else if (keepdim)
      kept.push_back(1);
  }
  return kept;
}

// For each row-major element of the input, the row-major position of the output it belongs to.
int64_t output_of(const Dims& sizes, uint64_t mask, int64_t index) {
  int64_t position = 0, step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (!(mask >> d & 1)) {
      position += index % sizes[d] * step;
      step *= sizes[d];
    }
    index /= sizes[d];
  }
  return position;
}

template <class T>
void sum(const Array& in, const Array& out, uint64_t mask) {
  reduce_loop<T, sum_t<T>, T>(in.operand(), out.operand(), mask, sum_t<T>(0),
                              [](sum_t<T> a, sum_t<T> b) { return a + b; });
}

template <class T>
void check_sum(const Array& in, uint64_t mask, bool keepdim = false) {
  Array out(dtype_of<T>, kept_sizes(in.sizes, mask, keepdim));
  sum<T>(in, out, mask);
  std::map<int64_t, double> wanted;
  for (int64_t i = 0; i < in.count(); i++)
    wanted[output_of(in.sizes, mask, i)] += static_cast<double>(static_cast<compute_t<T>>(in.get<T>(i)));
  for (int64_t i = 0; i < out.count(); i++) CHECK_EQ(out.get<T>(i), static_cast<T>(wanted[i]));
}

template <class T>
void check_shapes() {
  for (int64_t n : {0, 1, 3, 15, 16, 17, 63, 64, 80, 100, 1000, 8192, 8193, 50000}) {
    check_sum<T>(random_array<T>({n}, 1, 0, 2), 1);
    check_sum<T>(random_array<T>({3, n}, 1, 0, 2), 2);
    check_sum<T>(random_array<T>({n, 3}, 1, 0, 2), 1);
    check_sum<T>(random_array<T>({n, 3}, 1, 0, 2), 2, true);
    check_sum<T>(random_array<T>({3, n}, 1, 0, 2), 1, true);
    check_sum<T>(random_array<T>({2, n}, 1, 0, 2).permuted({1, 0}), 1);
    check_sum<T>(random_array<T>({2, n}, 1, 0, 2).permuted({1, 0}), 3);
  }
  check_sum<T>(random_array<T>({}, 1, 0, 2), 0);
  check_sum<T>(random_array<T>({5, 6}, 1, 0, 2), 0);
  check_sum<T>(random_array<T>({300, 6}, 1, 0, 2), 0);
  for (uint64_t mask = 0; mask < 16; mask++) {
    Array base = random_array<T>({5, 30, 4, 40}, 2, 0, 1);
    check_sum<T>(base, mask);
    check_sum<T>(base.permuted({2, 0, 3, 1}), mask, true);
    check_sum<T>(base.sliced(3, 1, 40, 3).sliced(1, 0, 30, 2), mask);
    check_sum<T>(random_array<T>({5, 1, 4, 200}, 2, 0, 1).expanded(1, 3), mask);
  }
  check_sum<T>(random_array<T>({3, 700, 5}, 2, 0, 1), 2);  // folded rows in a batch
  check_sum<T>(random_array<T>({2000, 130}, 2, 0, 1), 1);  // tiles, several blocks
  check_sum<T>(random_array<T>({600, 1500}, 2, 0, 1), 1);  // several tiles in a row
  check_sum<T>(random_array<T>({20, 30000}, 2, 0, 1), 2);  // several blocks in a run, shared by units
  check_sum<T>(random_array<T>({2, 70, 9, 150}, 2, 0, 1), 5);
}

uint64_t hash_bytes(const Array& array) {
  uint64_t hash = 1469598103934665603u;
  for (char byte : *array.storage) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211u;
  return hash;
}

}  // namespace

TEST(reduce_sums_every_shape_float) { check_shapes<float>(); }
TEST(reduce_sums_every_shape_double) { check_shapes<double>(); }
TEST(reduce_sums_every_shape_int32) { check_shapes<int32_t>(); }

TEST(reduce_halves_sum_in_float) {
  Array ones(DType::kBFloat16, {1000});
  for (int64_t i = 0; i < 1000; i++) ones.get<bfloat16>(i) = bfloat16(1.0f);
  Array out(DType::kBFloat16, {});
  sum<bfloat16>(ones, out, 1);
  CHECK_EQ(static_cast<float>(out.get<bfloat16>(0)), 1000.0f);
}

TEST(reduce_counts_any_nonzero_byte_of_a_bool) {
  Array flags(DType::kBool, {100});
  for (int64_t i = 0; i < 100; i++) flags.get<uint8_t>(i) = static_cast<uint8_t>(i % 5);
  Array out(DType::kInt64, {});
  reduce_loop<bool, int64_t, int64_t>(flags.operand(), out.operand(), 1, int64_t{0},
                                      [](int64_t a, int64_t b) { return a + b; });
  CHECK_EQ(out.get<int64_t>(0), 80);
}

TEST(reduce_of_nothing_is_the_identity) {
  Array in(DType::kFloat32, {4, 0, 3}), out(DType::kFloat32, {4, 3}), none(DType::kFloat32, {0, 3});
  out.get<float>(5) = 9;
  sum<float>(in, out, 2);
  for (int64_t i = 0; i < 12; i++) CHECK_EQ(out.get<float>(i), 0.0f);
  sum<float>(in, none, 1);
}

TEST(reduce_with_structs_maps_and_strided_outputs) {
  struct Range {
    float low, high;
  };
  Array in = random_array<float>({50, 60, 7}, 4, -90, 90),
        out = Array(DType::kFloat32, {7, 50}).permuted({1, 0});
  constexpr float kInf = std::numeric_limits<float>::infinity();
  reduce_loop<float, Range, float>(
      in.operand(), out.operand(), 2, Range{kInf, -kInf},
      [](Range a, Range b) { return Range{std::min(a.low, b.low), std::max(a.high, b.high)}; },
      [](Range r) { return r.high - r.low; }, [](float x) { return Range{x, x}; });
  for (int64_t i = 0; i < 50; i++) {
    for (int64_t j = 0; j < 7; j++) {
      float low = kInf, high = -kInf;
      for (int64_t k = 0; k < 60; k++) {
        low = std::min(low, in.get<float>((i * 60 + k) * 7 + j));
        high = std::max(high, in.get<float>((i * 60 + k) * 7 + j));
      }
      CHECK_EQ(out.get<float>(i * 7 + j), high - low);
    }
  }
}

TEST(reduce_is_accurate_and_the_same_on_any_number_of_threads) {
  std::mt19937 generator(7);
  std::uniform_real_distribution<float> draw(0.0f, 1.0f);
  int before = num_threads();
  for (Dims sizes : {Dims{10'000'000}, Dims{2'500'000, 4}, Dims{20'000, 500}, Dims{500, 20'000}}) {
    Array in(DType::kFloat32, sizes);
    double exact = 0;
    for (int64_t i = 0; i < 10'000'000; i++) {
      auto* data = reinterpret_cast<float*>(in.storage->data());
      data[i] = draw(generator);
      exact += data[i];
    }
    for (uint64_t mask = 1; mask < uint64_t{1} << sizes.size(); mask++) {
      Array out(DType::kFloat32, kept_sizes(sizes, mask, false));
      uint64_t hash = 0;
      for (int threads : {1, 2, 7}) {
        set_num_threads(threads);
        sum<float>(in, out, mask);
        if (threads == 1) hash = hash_bytes(out);
        CHECK_EQ(hash_bytes(out), hash);
      }
      double total = 0;
      for (int64_t i = 0; i < out.count(); i++) total += out.get<float>(i);
      CHECK_NEAR(total / exact, 1.0, 3e-7);
    }
  }
  set_num_threads(before);
}

TEST(reduce_mask_of_dims) {
  CHECK_EQ(reduce_mask({}, 3), 7);
  CHECK_EQ(reduce_mask({0, 2}, 3), 5);
  CHECK_EQ(reduce_mask({}, 0), 0);
}

}  // namespace tw::device

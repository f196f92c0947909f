#include "comm/reduce.h"

#include <cmath>
#include <limits>
#include <vector>

#include "test.h"

namespace tw::comm {

namespace {

template <class T>
std::vector<T> reduced(Reduction reduction, std::vector<std::vector<T>> inputs, size_t in_place = SIZE_MAX) {
  std::vector<const void*> pointers;
  for (const auto& input : inputs) pointers.push_back(input.data());
  std::vector<T> output(inputs[0].size());
  T* to = in_place == SIZE_MAX ? output.data() : inputs[in_place].data();
  reduce(dtype_of<T>, reduction, to, pointers, static_cast<int64_t>(output.size()));
  return in_place == SIZE_MAX ? output : inputs[in_place];
}

}  // namespace

TEST(integers_are_reduced_and_wrap_around) {
  using V = std::vector<int8_t>;
  for (size_t place : {size_t{0}, size_t{1}, size_t{2}, SIZE_MAX}) {
    CHECK(reduced<int8_t>(Reduction::kSum, {{100, 1}, {27, 2}, {1, 3}}, place) == V{-128, 6});
    CHECK(reduced<int8_t>(Reduction::kProd, {{2, -1}, {3, 2}, {4, 3}}, place) == V{24, -6});
    CHECK(reduced<int8_t>(Reduction::kMin, {{2, -1}, {3, 2}, {4, 3}}, place) == V{2, -1});
    CHECK(reduced<int8_t>(Reduction::kMax, {{2, -1}, {3, 2}, {4, 3}}, place) == V{4, 3});
  }
}

TEST(not_a_number_is_the_largest_and_the_smallest) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  for (Reduction reduction : {Reduction::kMin, Reduction::kMax}) {
    auto result = reduced<float>(reduction, {{1, nan, 1}, {2, 1, nan}, {3, 2, 2}});
    CHECK_EQ(result[0], reduction == Reduction::kMin ? 1.f : 3.f);
    CHECK(std::isnan(result[1]) && std::isnan(result[2]));
  }
}

TEST(halves_are_summed_in_float_and_rounded_once) {
  // One by one, 1 would be lost beside 2048 twice; together they are a step.
  std::vector<std::vector<float16>> inputs = {{float16(2048.f)}, {float16(1.f)}, {float16(1.f)}};
  CHECK_EQ(static_cast<float>(reduced(Reduction::kSum, inputs)[0]), 2050.f);
  std::vector<std::vector<bfloat16>> brains = {{bfloat16(256.f)}, {bfloat16(1.f)}, {bfloat16(1.f)}};
  CHECK_EQ(static_cast<float>(reduced(Reduction::kSum, brains, 1)[0]), 258.f);
}

TEST(bools_and_complex_numbers) {
  bool a[] = {true, false, false}, b[] = {true, true, false}, result[3];
  const void* inputs[] = {a, b};
  reduce(DType::kBool, Reduction::kSum, result, inputs, 3);
  CHECK(result[0] && result[1] && !result[2]);
  reduce(DType::kBool, Reduction::kProd, result, inputs, 3);
  CHECK(result[0] && !result[1] && !result[2]);
  CHECK(reduced<complex64>(Reduction::kProd, {{{0, 1}}, {{0, 1}}})[0] == complex64(-1, 0));
  CHECK_THROWS(Error, reduced<complex64>(Reduction::kMin, {{{0, 1}}, {{0, 1}}}), "have no order");
}

TEST(large_buffers_are_reduced_by_several_threads_in_one_order) {
  std::vector<std::vector<float>> inputs(5, std::vector<float>(300'001));
  for (size_t k = 0; k < inputs.size(); k++)
    for (size_t i = 0; i < inputs[k].size(); i++) inputs[k][i] = std::sin(static_cast<float>(i * (k + 1)));
  std::vector<float> expected = inputs[0];
  for (size_t k = 1; k < inputs.size(); k++)
    for (size_t i = 0; i < expected.size(); i++) expected[i] += inputs[k][i];
  CHECK(reduced(Reduction::kSum, inputs) == expected);
  CHECK(reduced(Reduction::kSum, inputs, 3) == expected);
}

}  // namespace tw::comm

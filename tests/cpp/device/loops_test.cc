#include "device/cpu/loops.h"

#include <cmath>

#include "device/arrays.h"
#include "device/cpu/math.h"
#include "test.h"

namespace tw::device {

using test::Array;
using test::random_array;

namespace {

// a + 2 b into `out`, compared with the same by index.
template <class T>
void check_binary(const Array& out, const Array& a, const Array& b) {
  binary_loop<T, T, T>(out.operand(), a.operand(), b.operand(),
                       [](compute_t<T> x, compute_t<T> y) { return x + 2 * y; });
  for (int64_t i = 0; i < out.count(); i++) {
    T wanted = static_cast<T>(a.get_broadcast<T>(out.sizes, i) + 2 * b.get_broadcast<T>(out.sizes, i));
    CHECK_EQ(out.get<T>(i), wanted);
  }
}

template <class T>
void check_layouts() {
  DType dtype = dtype_of<T>;
  // contiguous of several lengths around vector widths, blocks and grains
  for (int64_t n : {0, 1, 3, 4, 17, 63, 64, 511, 513, 100000}) {
    check_binary<T>(Array(dtype, {n}), random_array<T>({n}, 1), random_array<T>({n}, 2));
    check_binary<T>(Array(dtype, {n}), random_array<T>({n}, 1), random_array<T>({}, 2));
    check_binary<T>(Array(dtype, {n}), random_array<T>({1}, 1), random_array<T>({n}, 2));
  }
  check_binary<T>(Array(dtype, {}), random_array<T>({}, 1), random_array<T>({}, 2));
  // broadcasting of rows, columns, both; short and long rows
  for (int64_t columns : {3, 130, 700}) {
    Array out(dtype, {70, columns});
    check_binary<T>(out, random_array<T>({70, columns}, 1), random_array<T>({columns}, 2));
    check_binary<T>(out, random_array<T>({70, columns}, 1), random_array<T>({70, 1}, 2));
    check_binary<T>(out, random_array<T>({70, 1}, 1), random_array<T>({1, columns}, 2));
    check_binary<T>(out, random_array<T>({1, 1}, 1), random_array<T>({}, 2));
    check_binary<T>(out, random_array<T>({70, 1}, 1).expanded(1, columns), random_array<T>({columns}, 2));
    check_binary<T>(out, random_array<T>({columns, 70}, 1).permuted({1, 0}),
                    random_array<T>({70, columns}, 2));
    check_binary<T>(out, random_array<T>({70, 2 * columns}, 1).sliced(1, 1, 2 * columns, 2),
                    random_array<T>({70, columns}, 2));
    // outputs that are views
    check_binary<T>(Array(dtype, {columns, 70}).permuted({1, 0}), random_array<T>({70, columns}, 1),
                    random_array<T>({columns, 70}, 2).permuted({1, 0}));
    check_binary<T>(Array(dtype, {70, 3 * columns}).sliced(1, 2, 3 * columns, 3),
                    random_array<T>({70, columns}, 1), random_array<T>({70, 1}, 2));
  }
  // more dims, one of them empty
  check_binary<T>(Array(dtype, {5, 3, 4, 6}).permuted({3, 0, 2, 1}), random_array<T>({6, 5, 4, 3}, 1),
                  random_array<T>({4, 1}, 2));
  check_binary<T>(Array(dtype, {40, 1, 50, 60}), random_array<T>({60, 50}, 1).permuted({1, 0}),
                  random_array<T>({40, 1, 1, 60}, 2));
  check_binary<T>(Array(dtype, {4, 0, 3}), random_array<T>({4, 1, 3}, 1), random_array<T>({3}, 2));
}

}  // namespace

TEST(loops_add_every_layout_float) { check_layouts<float>(); }
TEST(loops_add_every_layout_double) { check_layouts<double>(); }
TEST(loops_add_every_layout_half) { check_layouts<float16>(); }
TEST(loops_add_every_layout_bfloat) { check_layouts<bfloat16>(); }
TEST(loops_add_every_layout_int8) { check_layouts<int8_t>(); }
TEST(loops_add_every_layout_int64) { check_layouts<int64_t>(); }

TEST(loops_in_place_over_any_view) {
  for (int64_t columns : {3, 200}) {
    Array base = random_array<float>({columns, 90}, 1);
    Array x = base.permuted({1, 0}).sliced(0, 0, 90, 2);
    std::vector<float> wanted;
    for (int64_t i = 0; i < x.count(); i++) wanted.push_back(3 * x.get<float>(i));
    unary_loop<float, float>(x.operand(), x.operand(), [](float v) { return 3 * v; });
    for (int64_t i = 0; i < x.count(); i++) CHECK_EQ(x.get<float>(i), wanted[i]);
  }
}

TEST(loops_read_any_nonzero_byte_as_true) {
  Array flags(DType::kBool, {100}), out(DType::kBool, {100}), number(DType::kInt32, {100});
  for (int i = 0; i < 100; i++) flags.get<uint8_t>(i) = static_cast<uint8_t>(i % 4 == 0 ? 0 : i);
  unary_loop<bool, bool>(out.operand(), flags.operand(), [](bool x) { return !x; });
  unary_loop<bool, int32_t>(number.operand(), flags.operand(), [](bool x) { return x ? 5 : 6; });
  for (int i = 0; i < 100; i++) {
    CHECK_EQ(out.get<uint8_t>(i), i % 4 == 0);
    CHECK_EQ(number.get<int32_t>(i), i % 4 == 0 ? 6 : 5);
  }
}

TEST(loops_mixed_types_and_three_inputs) {
  Array condition = random_array<uint8_t>({50, 1}, 3, 0, 1);
  condition.dtype = DType::kBool;
  Array a = random_array<float>({300}, 1), b = random_array<double>({50, 300}, 2),
        out(DType::kFloat64, {50, 300});
  ternary_loop<bool, float, double, double>(out.operand(), condition.operand(), a.operand(), b.operand(),
                                            [](bool c, float x, double y) { return c ? double{x} : y; });
  for (int64_t i = 0; i < out.count(); i++) {
    double wanted = condition.get<bool>(i / 300) ? a.get<float>(i % 300) : b.get<double>(i);
    CHECK_EQ(out.get<double>(i), wanted);
  }
}

TEST(loops_two_outputs) {
  Array a = random_array<float>({40, 30}, 1), b = random_array<float>({30}, 2, 1, 7);
  Array sum(DType::kFloat32, {40, 30}), less = Array(DType::kBool, {30, 40}).permuted({1, 0});
  Operand sum_op = sum.operand(), less_op = less.operand(), a_op = a.operand(), b_op = b.operand();
  pointwise_loop(Types<float, bool>{}, Types<float, float>{}, {&sum_op, &less_op}, {&a_op, &b_op},
                 [](float x, float y) { return std::pair(x + y, x < y); });
  for (int64_t i = 0; i < sum.count(); i++) {
    CHECK_EQ(sum.get<float>(i), a.get<float>(i) + b.get<float>(i % 30));
    CHECK_EQ(less.get<bool>(i), a.get<float>(i) < b.get<float>(i % 30));
  }
}

TEST(loops_refuse_operands_that_do_not_broadcast) {
  Array a = random_array<float>({4}, 1), out(DType::kFloat32, {3});
  CHECK_THROWS(Error, (unary_loop<float, float>(out.operand(), a.operand(), [](float x) { return x; })),
               "do not broadcast: sizes [3] and [4]");
}

TEST(loops_send_special_arguments_to_the_slow_form) {
  Array x(DType::kFloat32, {3000}), out(DType::kFloat32, {3000});
  for (int i = 0; i < 3000; i++)
    x.get<float>(i) = i % 700 == 3 ? 1e6f * static_cast<float>(i + 1) : static_cast<float>(i) * 0.01f;
  unary_loop<float, float>(out.operand(), x.operand(), math::Cos{});
  for (int i = 0; i < 3000; i++) CHECK_NEAR(out.get<float>(i), std::cos(double{x.get<float>(i)}), 1e-7);
  unary_loop<float, float>(x.operand(), x.operand(), math::Cos{});
  for (int i = 0; i < 3000; i++) CHECK_EQ(x.get<float>(i), out.get<float>(i));
}

TEST(loops_capture_by_value_and_run_without_inputs) {
  Array out(DType::kInt64, {2000});
  int64_t value = 42;
  nullary_loop<int64_t>(out.operand(), [value] { return value; });
  for (int64_t i = 0; i < out.count(); i++) CHECK_EQ(out.get<int64_t>(i), 42);
}

}  // namespace tw::device

#include "device/cpu/cast.h"

#include <cmath>
#include <limits>

#include "device/arrays.h"
#include "test.h"

namespace tw::device {

using test::Array;
using test::random_array;

namespace {

constexpr DType kAll[] = {DType::kBool,    DType::kUInt8,   DType::kInt8,      DType::kInt16,
                          DType::kInt32,   DType::kInt64,   DType::kFloat16,   DType::kBFloat16,
                          DType::kFloat32, DType::kFloat64, DType::kComplex64, DType::kComplex128};

// Element `i` as a complex number, whatever the dtype.
complex128 number(const Array& array, int64_t i) {
  return dispatch_all(array.dtype, "test", [&]<class T>() {
    if constexpr (is_complex_type<T>)
      return complex128(array.get<T>(i));
    else
      return complex128(static_cast<double>(static_cast<compute_t<T>>(array.get<T>(i))));
  });
}

void set(const Array& array, int64_t i, double value) {
  dispatch_all(array.dtype, "test", [&]<class T>() {
    if constexpr (is_complex_type<T>)
      array.get<T>(i) = T(static_cast<typename T::value_type>(value), 1);
    else
      array.get<T>(i) = static_cast<T>(value);
  });
}

// Copies `in` to `out` and compares with the same by index; values are whole numbers from 0 to 7.
void check_copy(const Array& out, const Array& in) {
  copy_cast(out.operand(), in.operand());
  for (int64_t i = 0; i < out.count(); i++) {
    complex128 wanted = number(in, i);
    if (!is_complex(out.dtype)) wanted = wanted.real();
    if (is_bool(out.dtype)) wanted = number(in, i) != complex128(0.0);
    CHECK(number(out, i) == wanted);
  }
}

float float_of(double value, DType to) {
  Array in(DType::kFloat64, {1}), out(to, {1});
  in.get<double>(0) = value;
  copy_cast(out.operand(), in.operand());
  return static_cast<float>(number(out, 0).real());
}

}  // namespace

TEST(cast_every_pair_of_dtypes) {
  for (DType from : kAll) {
    for (DType to : kAll) {
      for (int64_t n : {0, 1, 5, 64, 1000}) {
        Array in(from, {n});
        for (int64_t i = 0; i < n; i++) set(in, i, static_cast<double>(i * i % 8));
        check_copy(Array(to, {n}), in);
      }
      Array in(from, {3, 40, 50}), out(to, {50, 3, 40});
      for (int64_t i = 0; i < in.count(); i++) set(in, i, static_cast<double>(i * 7 % 8));
      check_copy(Array(to, {50, 3, 40}), in.permuted({2, 0, 1}));
      check_copy(Array(to, {40, 50, 3}).permuted({2, 0, 1}), in);
    }
  }
}

TEST(cast_edges) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  CHECK_EQ(float_of(kNan, DType::kBool), 1);
  CHECK_EQ(float_of(-0.0, DType::kBool), 0);
  CHECK_EQ(float_of(0.3, DType::kBool), 1);
  CHECK_EQ(float_of(-2.7, DType::kInt32), -2);
  CHECK_EQ(float_of(2.7, DType::kInt8), 2);
  CHECK_EQ(float_of(-1.0, DType::kUInt8), 255);
  CHECK_EQ(float_of(257.0, DType::kUInt8), 1);
  CHECK_EQ(float_of(70000.0, DType::kFloat16), std::numeric_limits<float>::infinity());
  CHECK(std::isnan(float_of(kNan, DType::kFloat16)) && std::isnan(float_of(kNan, DType::kBFloat16)));
  CHECK_EQ(float_of(1.00390625, DType::kBFloat16), 1.0f);  // half way: to the even neighbour
  Array imaginary(DType::kComplex64, {1}), flag(DType::kBool, {1});
  imaginary.get<complex64>(0) = complex64(0, 2);
  copy_cast(flag.operand(), imaginary.operand());
  CHECK(flag.get<bool>(0));
}

TEST(copy_broadcasts_and_transposes) {
  for (Dims sizes : {Dims{1, 1}, Dims{4, 4}, Dims{33, 65}, Dims{100, 7}, Dims{500, 300}}) {
    for (DType dtype :
         {DType::kInt8, DType::kBFloat16, DType::kFloat32, DType::kFloat64, DType::kComplex128}) {
      Array in(dtype, {sizes[1], sizes[0]});
      for (int64_t i = 0; i < in.count(); i++) set(in, i, static_cast<double>(i % 101));
      check_copy(Array(dtype, sizes), in.permuted({1, 0}));
      check_copy(Array(dtype, {sizes[1], sizes[0]}).permuted({1, 0}), Array(dtype, sizes));
    }
  }
  Array in = random_array<float>({6, 40, 5, 30}, 1);
  check_copy(Array(DType::kFloat32, {30, 6, 5, 40}), in.permuted({3, 0, 2, 1}));
  check_copy(Array(DType::kFloat32, {6, 5, 40, 30}), in.permuted({0, 2, 1, 3}));
  check_copy(Array(DType::kFloat32, {6, 30, 5, 20}), in.sliced(1, 0, 40, 2).permuted({0, 3, 2, 1}));
  Array row = random_array<float>({1, 50}, 2), out(DType::kFloat32, {20, 50});
  copy_cast(out.operand(), row.operand());
  for (int64_t i = 0; i < out.count(); i++) CHECK_EQ(out.get<float>(i), row.get<float>(i % 50));
}

}  // namespace tw::device

#include "eager/dispatch.h"

#include "eager/promotion.h"
#include "ir/emitter.h"
#include "test.h"

using namespace tw;
using namespace tw::eager;
using ir::op;
using ir::Value;

namespace {

Value full(Dims sizes, Scalar value, DType dtype) {
  initialize();
  return op<"full">(sizes, value, dtype);
}

}  // namespace

TEST(numbers_rank_below_tensors) {
  Value bytes = full({2}, 17, DType::kUInt8);
  CHECK(op<"add">(bytes, 2)->dtype == DType::kUInt8);
  CHECK(op<"add">(bytes, 2.5)->dtype == DType::kFloat32);
  CHECK((full({2}, 1, DType::kFloat32) + full({}, 1, DType::kFloat64))->dtype == DType::kFloat32);
  CHECK((full({2}, 1, DType::kInt32) + full({}, 1, DType::kFloat32))->dtype == DType::kFloat32);
  CHECK((full({2}, 1, DType::kInt32) + full({}, 1, DType::kInt64))->dtype == DType::kInt32);
}

TEST(numbers_keep_their_precision) {
  Value x = op<"mul">(full({}, 1, DType::kFloat64), 0.1);
  CHECK_EQ(item(tensor_of(x)).to_double(), 0.1);
}

TEST(an_inplace_result_must_fit_its_tensor) {
  Value integers = full({2}, 1, DType::kInt64);
  const ir::OpDef& mul = ir::registry().get("mul");
  const Value by_float[] = {integers, number_operand(Scalar(0.5))};
  CHECK_THROWS(Error, dispatch_inplace(mul, by_float, {}, nullptr), "cannot be written");
  const Value wider[] = {integers, full({3, 2}, 1, DType::kInt64)};
  CHECK_THROWS(Error, dispatch_inplace(mul, wider, {}, nullptr), "does not fit");
}

TEST(overlapping_inputs_are_read_before_they_change) {
  Value x = op<"cast">(full({4}, 1, DType::kFloat32), DType::kFloat32);
  float* data = static_cast<float*>(tensor_of(x).data());
  for (int i = 0; i < 4; i++) data[i] = static_cast<float>(i);
  Value low = op<"slice">(x, 0, 0, 3, 1), high = op<"slice">(x, 0, 1, 4, 1);
  const Value inputs[] = {high, low};
  ir::AttrBox attrs(ir::registry().get("add").attr_type, ir::registry().get("add").defaults());
  dispatch_inplace(ir::registry().get("add"), inputs, {}, attrs.get());
  CHECK_EQ(data[1], 1.0f);
  CHECK_EQ(data[2], 3.0f);
  CHECK_EQ(data[3], 5.0f);
}

TEST(impossible_sizes_are_exceptions) {
  CHECK_THROWS(Error, full({-1}, 0, DType::kFloat32), "negative");
  CHECK_THROWS(Error, full({int64_t{1} << 50}, 0, DType::kFloat32), "");
  CHECK_EQ(item(tensor_of(full({}, 2, DType::kInt64))).to_int(), 2);
}

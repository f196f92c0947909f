#include "sbp/sbp.h"

#include "sbp/rules.h"
#include "test.h"

using namespace tw;
using namespace tw::sbp;

namespace {

RuleContext context(const std::vector<Dims>& inputs, const Dims& output, DType dtype = DType::kFloat32) {
  RuleContext c;
  for (const Dims& sizes : inputs) c.add_input(sizes, dtype);
  c.add_output(output, dtype);
  return c;
}

std::string text(const Signature& signature) {
  std::string result;
  for (const Sbp& sbp : signature.inputs) result += name_of(sbp) + " ";
  return result + "-> " + name_of(signature.outputs[0]);
}

std::vector<std::string> texts(const RuleContext& c) {
  std::vector<std::string> result;
  for (const Signature& signature : c.signatures) result.push_back(text(signature));
  return result;
}

}  // namespace

TEST(matmul_has_the_five_signatures_of_its_letters) {
  RuleContext c = context({{2, 3}, {3, 4}}, {2, 4});
  add_einsum(c, "mk,kn->mn");
  CHECK_EQ(texts(c), (std::vector<std::string>{"S(0) B -> S(0)", "S(1) S(0) -> P(sum)", "B S(1) -> S(1)",
                                               "P(sum) B -> P(sum)", "B P(sum) -> P(sum)"}));
}

TEST(broadcast_dims_stay_whole) {
  RuleContext c = context({{3, 1}, {4}}, {3, 4});
  elementwise(c);
  CHECK_EQ(texts(c), (std::vector<std::string>{"S(0) B -> S(0)", "B S(0) -> S(1)"}));
}

TEST(sums_let_pending_sums_through) {
  RuleContext c = context({{2}, {2}}, {2});
  elementwise_additive(c);
  CHECK_EQ(texts(c).back(), "P(sum) P(sum) -> P(sum)");
}

TEST(of_a_maximum_that_falls_a_minimum_is_left) {
  RuleContext c = context({{2}}, {2});
  elementwise_negative(c);
  CHECK_EQ(texts(c), (std::vector<std::string>{"S(0) -> S(0)", "P(sum) -> P(sum)", "P(max) -> P(min)",
                                               "P(min) -> P(max)"}));
  c = context({{2}}, {2}, DType::kInt64);
  elementwise_negative(c);
  CHECK_EQ(texts(c), (std::vector<std::string>{"S(0) -> S(0)", "P(sum) -> P(sum)"}));
}

TEST(sums_pass_where_no_number_is_rounded) {
  CHECK(cast_keeps_sums(DType::kBFloat16, DType::kFloat32));
  CHECK(!cast_keeps_sums(DType::kFloat16, DType::kBFloat16));
  CHECK(!cast_keeps_sums(DType::kFloat64, DType::kComplex64));
  CHECK(cast_keeps_sums(DType::kInt64, DType::kUInt8));
  CHECK(!cast_keeps_sums(DType::kUInt8, DType::kInt64));
  CHECK(!cast_keeps_sums(DType::kInt64, DType::kFloat64));
}

TEST(extremes_pass_where_the_order_stays) {
  CHECK(cast_rises(DType::kFloat64, DType::kFloat16));
  CHECK(cast_rises(DType::kUInt8, DType::kBool));
  CHECK(!cast_rises(DType::kInt8, DType::kUInt8));
  CHECK(!cast_rises(DType::kFloat32, DType::kInt64));
}

#include "sbp/signatures.h"

#include "test.h"

using namespace tw;
using namespace tw::sbp;

namespace {

std::string text(const Signature& signature) {
  std::string out;
  for (const Sbp& s : signature.inputs) out += name_of(s) + " ";
  out += "->";
  for (const Sbp& s : signature.outputs) out += " " + name_of(s);
  return out;
}

std::vector<std::string> texts(Rule rule, const std::vector<Dims>& inputs, const Dims& output,
                               DType dtype = DType::kFloat32) {
  RuleContext context;
  for (const Dims& sizes : inputs) context.add_input(sizes, dtype);
  context.add_output(output, dtype);
  std::vector<std::string> out;
  for (const Signature& one : signatures_of(rule, context)) out.push_back(text(one));
  return out;
}

PlacementRef mesh(const Dims& shape) {
  std::vector<int64_t> ranks(numel(shape));
  for (size_t i = 0; i < ranks.size(); i++) ranks[i] = static_cast<int64_t>(i);
  return placement("cpu", shape, ranks);
}

// [384] of heads of 64 becomes [6, 64].
const Signature kHeads{{split(0, 64)}, {split(0)}};
const std::vector<Dims> kSizes{{384}, {6, 64}};

std::string like(const Signature& signature, const std::vector<Dims>& sizes, size_t tensor,
                 const NdSbp& sbp) {
  Dims shape(sbp.size(), 2);
  auto cut = cut_like(signature, sizes, tensor, *layout(mesh(shape), sbp), sbp.size() - 1);
  return cut ? text(*cut) : "none";
}
std::string like(const Sbp& wanted) { return like(kHeads, kSizes, 0, {wanted}); }

bool offered(const Dims& shape, const NdSbp& input, const NdSbp& output) {
  LayoutRef a = layout(mesh(shape), input), b = layout(mesh(shape), output);
  const Layout* layouts[] = {a.get(), b.get()};
  return offers(std::vector<Signature>{kHeads, {{broadcast()}, {broadcast()}}}, layouts, kSizes);
}

}  // namespace

TEST(every_signature_is_there_once_and_all_broadcast_is_always) {
  CHECK_EQ(texts(nullptr, {{4, 8}}, {4, 8}), (std::vector<std::string>{"B -> B"}));
  CHECK_EQ(texts(elementwise_linear, {{4, 8}}, {4, 8}),
           (std::vector<std::string>{"B -> B", "S(0) -> S(0)", "S(1) -> S(1)", "P(sum) -> P(sum)"}));
  Rule twice = [](RuleContext& c) {
    elementwise(c);
    elementwise(c);
  };
  CHECK_EQ(texts(twice, {{4}}, {4}), (std::vector<std::string>{"B -> B", "S(0) -> S(0)"}));
}

TEST(cuts_of_one_tensor_are_carried_to_the_others) {
  CHECK_EQ(like(split(0, 64)), "S(0, unit=64) -> S(0)");
  CHECK_EQ(like(split(0, 128)), "S(0, unit=128) -> S(0, unit=2)");
  CHECK_EQ(like(split(0)), "S(0, unit=64) -> S(0)");  // 192 is three heads
  CHECK_EQ(like(split(0, 96)), "S(0, unit=64) -> S(0)");
  CHECK_EQ(like(split(0, 100)), "none");
  CHECK_EQ(like(split_as(0, {256, 128})), "S(0, sizes=[256, 128]) -> S(0, sizes=[4, 2])");
  CHECK_EQ(like(split_as(0, {384, 0})), "S(0, sizes=[384, 0]) -> S(0, sizes=[6, 0])");
  CHECK_EQ(like(split_as(0, {200, 184})), "none");
  CHECK_EQ(like(kHeads, kSizes, 1, {split_as(0, {5, 1})}), "S(0, sizes=[320, 64]) -> S(0, sizes=[5, 1])");
}

TEST(a_second_axis_cuts_what_the_first_left) {
  NdSbp half{split(0, 64), split_as(0, {64, 128})};
  CHECK_EQ(like(kHeads, kSizes, 0, half), "S(0, sizes=[64, 128]) -> S(0, sizes=[1, 2])");
  CHECK_EQ(like(kHeads, kSizes, 0, {split(0, 64), split(0, 96)}), "none");
}

TEST(the_last_unit_may_be_short) {
  const Signature pairs{{split(0, 4)}, {split(0)}};
  const std::vector<Dims> sizes{{10}, {3}};
  CHECK_EQ(like(pairs, sizes, 1, {split_as(0, {2, 1})}), "S(0, unit=4) -> S(0)");
  CHECK_EQ(like(pairs, sizes, 1, {split_as(0, {0, 3})}), "S(0, sizes=[0, 10]) -> S(0, sizes=[0, 3])");
  CHECK_EQ(like(pairs, sizes, 0, {split_as(0, {4, 6})}), "S(0, sizes=[4, 6]) -> S(0, sizes=[1, 2])");
}

TEST(an_op_runs_on_parts_that_are_cut_alike) {
  CHECK(offered({2}, {broadcast()}, {broadcast()}));
  CHECK(offered({2}, {split(0, 64)}, {split(0)}));
  CHECK(offered({2}, {split(0)}, {split(0)}));   // 192 is three heads
  CHECK(!offered({4}, {split(0)}, {split(0)}));  // 96 is one and a half
  CHECK(offered({4}, {split(0, 64)}, {split(0)}));
  CHECK(!offered({4}, {split(0, 128)}, {split(0)}));
  CHECK(offered({4}, {split(0, 128)}, {split(0, 2)}));
  CHECK(offered({2}, {split_as(0, {64, 320})}, {split_as(0, {1, 5})}));
  CHECK(!offered({2}, {split_as(0, {64, 320})}, {split_as(0, {2, 4})}));
  CHECK(!offered({2}, {split(0, 64)}, {broadcast()}));
  CHECK(!offered({2}, {partial()}, {partial()}));
}

TEST(each_axis_takes_a_signature_of_its_own) {
  CHECK(offered({2, 3}, {split(0, 64), broadcast()}, {split(0), broadcast()}));
  CHECK(offered({2, 3}, {split(0, 64), split(0, 64)}, {split(0), split(0)}));
  CHECK(!offered({2, 2}, {split(0, 64), split(0)}, {split(0), split(0)}));
  CHECK(!offered({2, 2}, {split(0, 64), broadcast()}, {broadcast(), split(0)}));
}

TEST(no_extreme_of_complex_numbers_is_pending) {
  CHECK_EQ(texts(elementwise_monotone, {{2}}, {2}).size(), 4);
  CHECK_EQ(texts(elementwise_monotone, {{2}}, {2}, DType::kComplex64),
           (std::vector<std::string>{"B -> B", "S(0) -> S(0)"}));
}

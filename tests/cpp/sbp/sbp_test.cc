#include "sbp/sbp.h"

#include "test.h"

using namespace tw;
using namespace tw::sbp;

namespace {

RuleContext context(std::vector<Dims> inputs, Dims output) {
  RuleContext c;
  c.present.assign(inputs.size(), true);
  c.inputs = std::move(inputs);
  c.outputs = {std::move(output)};
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

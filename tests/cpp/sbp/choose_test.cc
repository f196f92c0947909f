#include "sbp/choose.h"

#include "test.h"

using namespace tw;
using namespace tw::sbp;

namespace {

const std::vector<Signature> kMatmul = {{{split(0), broadcast()}, {split(0)}},
                                        {{broadcast(), split(1)}, {split(1)}},
                                        {{split(1), split(0)}, {partial()}}};

std::string chosen(const PlacementRef& p, const std::vector<Signature>& signatures,
                   std::vector<Operand> inputs, Dims output, Demand demand = {}) {
  auto choice = choose(*p, signatures, inputs, std::vector<Dims>{output}, demand);
  if (!choice) return "none";
  std::string text;
  for (const NdSbp& input : choice->inputs) text += name_of(input) + " ";
  return text + "-> " + name_of(choice->outputs[0]);
}

}  // namespace

TEST(what_lies_right_stays) {
  PlacementRef p = placement("cpu", {4}, {0, 1, 2, 3});
  NdSbp rows{split(0)}, columns{split(1)}, whole{broadcast()};
  Operand x{{8, 8}, 256, &rows}, w{{8, 8}, 256, &whole};
  CHECK_EQ(chosen(p, kMatmul, {x, w}, {8, 8}), "S(0) B -> S(0)");
  x.lies = &whole, w.lies = &columns;
  CHECK_EQ(chosen(p, kMatmul, {x, w}, {8, 8}), "B S(1) -> S(1)");
  x.lies = &columns, w.lies = &rows;
  CHECK_EQ(chosen(p, kMatmul, {x, w}, {8, 8}), "S(1) S(0) -> P(sum)");
  x.lies = &whole, w.lies = &whole;
  CHECK_EQ(chosen(p, kMatmul, {x, w}, {8, 8}), "B B -> B");
}

TEST(the_smaller_one_moves) {
  PlacementRef p = placement("cpu", {2}, {0, 1});
  NdSbp rows{split(0)};
  Operand x{{800, 8}, 25600, &rows}, w{{8, 8}, 256, &rows};
  CHECK_EQ(chosen(p, kMatmul, {x, w}, {800, 8}), "S(0) B -> S(0)");
}

TEST(cuts_are_carried_as_fractions) {
  PlacementRef p = placement("cpu", {4}, {0, 1, 2, 3});
  const std::vector<Signature> heads = {{{split(1, 64)}, {split(1)}}};
  NdSbp unit{split(1, 128)}, stated{split_as(1, {192, 0, 128, 64})}, within{split_as(1, {100, 100, 100, 84})};
  CHECK_EQ(chosen(p, heads, {{{2, 384}, 3072, &unit}}, {2, 6, 64}), "S(1, unit=128) -> S(1, unit=2)");
  CHECK_EQ(chosen(p, heads, {{{2, 384}, 3072, &stated}}, {2, 6, 64}),
           "S(1, sizes=[192, 0, 128, 64]) -> S(1, sizes=[3, 0, 2, 1])");
  CHECK_EQ(chosen(p, heads, {{{2, 384}, 3072, &within}}, {2, 6, 64}), "S(1, unit=64) -> S(1)");
}

TEST(a_balanced_cut_at_multiples_needs_no_unit) {
  PlacementRef p = placement("cpu", {2}, {0, 1});
  NdSbp plain{split(1)};
  const std::vector<Signature> heads = {{{split(1, 64)}, {split(1)}}};
  CHECK_EQ(chosen(p, heads, {{{2, 384}, 3072, &plain}}, {2, 6, 64}), "S(1, unit=64) -> S(1)");
  CHECK_EQ(axis_cost(split(0), broadcast(), 100, 4), 300);
}

TEST(axes_are_chosen_one_by_one) {
  PlacementRef p = placement("cpu", {2, 2}, {0, 1, 2, 3});
  NdSbp x{split(0), broadcast()}, w{broadcast(), split(1)};
  CHECK_EQ(chosen(p, kMatmul, {{{8, 8}, 256, &x}, {{8, 8}, 256, &w}}, {8, 8}),
           "(S(0), B) (B, S(1)) -> (S(0), S(1))");
}

TEST(what_is_written_in_place_stays) {
  PlacementRef p = placement("cpu", {2}, {0, 1});
  const std::vector<Signature> pointwise = {{{split(0), split(0)}, {split(0)}},
                                            {{split(1), split(1)}, {split(1)}}};
  NdSbp rows{split(0)}, columns{split(1)}, pending{partial()};
  Operand small{{4, 4}, 64, &rows}, large{{4, 4}, 6400, &columns};
  CHECK_EQ(chosen(p, pointwise, {small, large}, {4, 4}), "S(1) S(1) -> S(1)");
  CHECK_EQ(chosen(p, pointwise, {small, large}, {4, 4}, {&rows, true}), "S(0) S(0) -> S(0)");
  small.lies = &pending;
  CHECK_EQ(chosen(p, pointwise, {small, large}, {4, 4}, {&pending, true}), "none");
}

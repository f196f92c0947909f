#include "sbp/layout.h"

#include "base/error.h"
#include "test.h"

using namespace tw;
using namespace tw::sbp;

namespace {

PlacementRef line(int64_t count) {
  std::vector<int64_t> ranks(count);
  for (int64_t i = 0; i < count; i++) ranks[i] = i;
  return placement("cpu", {count}, ranks);
}

// first:size of each part of a dim.
std::string parts(const Sbp& split, int64_t length, int64_t count) {
  std::string result;
  for (int64_t i = 0; i < count; i++) {
    Cut part = cut(split, length, count, i);
    result += cat(part.first, ":", part.size, " ");
  }
  return result;
}

std::string box(const Layout& layout, const Dims& sizes, int64_t position) {
  Box b = box_of(layout, sizes, position);
  return cat(b.first, b.sizes);
}

}  // namespace

TEST(cuts_are_balanced_and_the_first_parts_larger) {
  CHECK_EQ(parts(split(0), 10, 4), "0:3 3:3 6:2 8:2 ");
  CHECK_EQ(parts(split(0), 2, 4), "0:1 1:1 2:0 2:0 ");
  CHECK_EQ(parts(split(0), 0, 2), "0:0 0:0 ");
}

TEST(cuts_lie_at_multiples_of_the_unit) {
  CHECK_EQ(parts(split(0, 64), 384, 4), "0:128 128:128 256:64 320:64 ");
  CHECK_EQ(parts(split(0, 4), 10, 2), "0:8 8:2 ");
  CHECK_EQ(parts(split(0, 64), 64, 2), "0:64 64:0 ");
}

TEST(stated_sizes_are_taken_or_refused) {
  CHECK_EQ(parts(split_as(0, {3, 1}), 4, 2), "0:3 3:1 ");
  CHECK_THROWS(Error, cut(split_as(0, {3, 1}), 5, 2, 0), "states 2 parts of 4 elements");
  CHECK_THROWS(Error, cut(split_as(0, {3, 1}), 4, 3, 0), "3 devices");
}

TEST(axes_nest_in_their_order) {
  PlacementRef mesh = placement("cpu", {2, 2}, {0, 1, 2, 3});
  LayoutRef both = layout(mesh, {split(0), split(0)});
  CHECK_EQ(box(*both, {7, 2}, 1), "[2, 0][2, 2]");  // 4 + 3, then 2 + 2 and 2 + 1
  CHECK_EQ(box(*both, {7, 2}, 3), "[6, 0][1, 2]");
  LayoutRef crossed = layout(mesh, {split(1), split(0)});
  CHECK_EQ(box(*crossed, {7, 2}, 2), "[0, 1][4, 1]");
  CHECK_EQ(box(*layout(mesh, {broadcast(), split(0)}), {7, 2}, 3), "[4, 0][3, 2]");
}

TEST(placements_keep_their_order_and_are_interned) {
  PlacementRef a = placement("cpu", {3}, {1, 0, 2});
  CHECK_EQ(name_of(*a), "cpu[1, 0, 2]");
  CHECK_EQ(a->position_of(0), 1);
  CHECK_EQ(a->position_of(7), -1);
  CHECK(a == placement("cpu", {3}, {1, 0, 2}));
  CHECK(!(a == placement("cpu", {3}, {0, 1, 2})));
  PlacementRef mesh = placement("cpu", {2, 3}, {5, 4, 3, 2, 1, 0});
  CHECK_EQ(name_of(*mesh), "cpu[[5, 4, 3], [2, 1, 0]]");
  CHECK_EQ(mesh->along(0, 4), (std::vector<int64_t>{1, 4}));
  CHECK_EQ(mesh->along(1, 4), (std::vector<int64_t>{3, 4, 5}));
  CHECK_EQ(mesh->position_at(mesh->coordinates(5)), 5);
}

TEST(bad_placements_say_what_is_wrong) {
  CHECK_THROWS(Error, placement("cpu", {2}, {0, 0}), "got 0 twice");
  CHECK_THROWS(Error, placement("cpu", {2}, {0, -1}), "got -1");
  CHECK_THROWS(Error, placement("cpu", {2, 2}, {0, 1, 2}), "has 4 ranks, got 3");
  CHECK_THROWS(Error, placement("cpu", {0}, {}), "at least one rank");
}

TEST(layouts_are_interned_and_checked) {
  PlacementRef mesh = placement("cpu", {2, 2}, {0, 1, 2, 3});
  LayoutRef a = layout(mesh, {split(0), partial()});
  CHECK(a == layout(mesh, {split(0), partial()}));
  CHECK_EQ(name_of(*a), "cpu[[0, 1], [2, 3]] (S(0), P(sum))");
  CHECK(a->has_partial() && !a->is_broadcast());
  CHECK_THROWS(Error, layout(mesh, {split(0)}), "got 1");
  CHECK_THROWS(Error, check_layout(*layout(line(2), {split(2)}), {4, 4}, "to_global"), "to_global: sbp: ");
}

TEST(the_same_parts_may_be_written_in_several_ways) {
  LayoutRef plain = layout(line(2), {split(0)}), heads = layout(line(2), {split(0, 2)});
  CHECK(same_parts(*plain, *heads, {8}));
  CHECK(!same_parts(*plain, *heads, {6}));
  CHECK(same_parts(*plain, *layout(line(2), {split_as(0, {3, 3})}), {6}));
  CHECK(!same_parts(*plain, *layout(line(2), {partial()}), {8}));
  CHECK(!same_parts(*layout(line(2), {broadcast()}), *layout(line(2), {partial()}), {8}));
}

#include "base/dims.h"

#include "base/error.h"
#include "test.h"

using namespace tw;

TEST(numel_multiplies_and_refuses_what_is_no_size) {
  CHECK_EQ(numel({2, 3, 4}), 24);
  CHECK_EQ(numel({}), 1);
  CHECK_EQ(numel({int64_t{1} << 40, 0, int64_t{1} << 40}), 0);
  CHECK_THROWS(Error, numel({2, -1}), "negative");
  CHECK_THROWS(Error, numel({int64_t{1} << 40, int64_t{1} << 40}), "overflows");
}

TEST(contiguity_ignores_dims_of_size_one) {
  CHECK_EQ(contiguous_strides({2, 3, 4}), (Dims{12, 4, 1}));
  CHECK(is_contiguous({2, 1, 4}, {4, 99, 1}));
  CHECK(!is_contiguous({2, 3}, {1, 2}));
  CHECK(is_contiguous({0, 3}, {7, 7}));
}

TEST(overlap_is_seen_through_any_order_of_strides) {
  CHECK(may_overlap({3, 2}, {0, 1}));
  CHECK(may_overlap({3, 3}, {1, 1}));
  CHECK(!may_overlap({2, 3}, {1, 2}));
  CHECK(!may_overlap({3, 2}, {4, 2}));
}

TEST(dims_wrap_from_the_end) {
  CHECK_EQ(wrap_dim(-1, 3, "op"), 2);
  CHECK_EQ(wrap_dim(-1, 0, "op"), 0);
  CHECK_THROWS(Error, wrap_dim(3, 3, "op"), "op: dim must be in [-3, 2], got 3");
  CHECK_THROWS(Error, wrap_dims({0, -2}, 2, "op"), "more than once");
}

TEST(shapes_broadcast_from_the_right) {
  CHECK_EQ(broadcast_sizes({3, 1}, {2, 1, 4}, "add"), (Dims{2, 3, 4}));
  CHECK_EQ(broadcast_sizes({0}, {1}, "add"), (Dims{0}));
  CHECK_THROWS(Error, broadcast_sizes({2, 3}, {4}, "add"), "add: the shapes [2, 3] and [4] do not broadcast");
}

TEST(a_view_needs_evenly_lying_runs) {
  Dims strides;
  CHECK(view_strides({2, 3, 4}, {12, 4, 1}, {6, 4}, &strides));
  CHECK_EQ(strides, (Dims{4, 1}));
  CHECK(!view_strides({3, 2}, {1, 3}, {6}, &strides));
  CHECK(view_strides({3, 2}, {1, 3}, {3, 1, 2}, &strides));
  CHECK(view_strides({2, 6}, {6, 1}, {2, 2, 3}, &strides));
  CHECK_EQ(strides, (Dims{6, 3, 1}));
  CHECK(view_strides({4}, {0}, {2, 2}, &strides));
  CHECK_EQ(strides, (Dims{0, 0}));
}

TEST(one_size_may_be_left_open) {
  CHECK_EQ(infer_size({-1, 4}, 12, "reshape"), (Dims{3, 4}));
  CHECK_THROWS(Error, infer_size({-1, -1}, 12, "reshape"), "only one size may be -1");
  CHECK_THROWS(Error, infer_size({5, -1}, 12, "reshape"), "does not fit 12 elements");
  CHECK_THROWS(Error, infer_size({0, -1}, 0, "reshape"), "ambiguous");
}

#include "sbp/boxing.h"

#include "base/error.h"
#include "boxing_arrays.h"
#include "boxing_layouts.h"
#include "test.h"

using namespace tw;
using namespace tw::sbp;

namespace {

const std::vector<Dims> kShapes = {{12, 4}, {7, 5}, {0, 3}, {1, 2}};

// All ordered pairs, or every `stride`-th of them.
int64_t check_pairs(const PlacementRef& a, const PlacementRef& b, const Dims& sizes, int64_t stride = 1) {
  std::mt19937 random(7);
  return for_pairs(a, b, sizes, stride,
                   [&](const LayoutRef& f, const LayoutRef& t) { check_boxing(f, t, sizes, random); });
}

int64_t bytes(const PlacementRef& a, const Sbp& from, const PlacementRef& b, const Sbp& to,
              const Dims& sizes = {12, 12}) {
  return plan_boxing(layout(a, {from}), layout(b, {to}), sizes, 4)->bytes;
}

}  // namespace

TEST(all_pairs_on_one_axis) {
  for (int64_t count : {2, 3, 4})
    for (const Dims& sizes : kShapes) CHECK_GE(check_pairs(mesh({count}), mesh({count}), sizes), 49);
}

TEST(all_pairs_on_2x2) {
  for (const Dims& sizes : kShapes) CHECK_GE(check_pairs(mesh({2, 2}), mesh({2, 2}), sizes), 49 * 49);
}

TEST(all_pairs_on_2x3) {
  for (const Dims& sizes : {Dims{12, 4}, Dims{7, 5}}) check_pairs(mesh({2, 3}), mesh({2, 3}), sizes);
}

TEST(every_13th_pair_on_2x2x2) {
  for (const Dims& sizes : {Dims{8, 4}, Dims{5, 3}})
    CHECK_GE(check_pairs(mesh({2, 2, 2}), mesh({2, 2, 2}), sizes, 13), 8000);
}

TEST(pairs_between_other_placements) {
  std::vector<std::pair<PlacementRef, PlacementRef>> pairs = {
      {mesh({2}), mesh({3}, 2)},           // disjoint
      {mesh({3}), mesh({2}, 3)},           //
      {mesh({3}), mesh({2}, 1)},           // overlapping
      {line({1, 2, 3}), line({0, 1, 3})},  //
      {line({0, 1, 2}), line({2, 0, 1})},  // the same ranks in another order
      {mesh({4}), mesh({2, 2})},           // 1-d to 2-d
      {mesh({2, 2}), mesh({4})},           // and back
      {mesh({2, 1}), mesh({2})},           //
      {mesh({1}), mesh({2, 2})},           // one device
      {mesh({2, 2}), mesh({2, 2}, 2)},     // half of them shared
      {mesh({2, 2}), mesh({2, 2}, 4)},     //
      {mesh({2, 2}), placement("cpu", {2, 2}, {0, 2, 1, 3})},
  };
  for (const auto& [a, b] : pairs)
    for (const Dims& sizes : {Dims{12, 4}, Dims{7, 5}})
      check_pairs(a, b, sizes, a->axes() + b->axes() == 4 ? 5 : 1);
  check_pairs(mesh({2, 2, 2}), mesh({3}, 6), {6, 5}, 3);
  check_pairs(mesh({2, 2}), mesh({2, 2, 2}), {6, 5}, 23);
}

TEST(scalars) {
  std::mt19937 random(7);
  NdSbp choices = {broadcast(), partial(), partial(ReduceOp::kMax)};
  for (const Dims& shape : {Dims{3}, Dims{2, 2}})
    for (const LayoutRef& from : layouts(mesh(shape), {}, choices))
      for (const LayoutRef& to : layouts(mesh(shape), {}, choices)) check_boxing(from, to, {}, random);
}

TEST(bytes_on_one_axis_are_the_least) {
  for (int64_t p : {2, 3, 4, 6}) {
    PlacementRef d = mesh({p});
    int64_t t = 12 * 12 * 4;
    CHECK_EQ(bytes(d, split(0), d, broadcast()), (p - 1) * t);
    CHECK_EQ(bytes(d, partial(), d, broadcast()), 2 * (p - 1) * t);
    CHECK_EQ(bytes(d, partial(), d, split(1)), (p - 1) * t);
    CHECK_EQ(bytes(d, split(0), d, split(1)), (p - 1) * t / p);
    CHECK_EQ(bytes(d, split(0), d, partial()), 0);
    CHECK_EQ(bytes(d, broadcast(), d, split(0)), 0);
    CHECK_EQ(bytes(d, broadcast(), d, partial(ReduceOp::kMin)), 0);
    CHECK_EQ(bytes(d, partial(), d, partial()), 0);
    CHECK_EQ(bytes(d, partial(), d, partial(ReduceOp::kMax)), (p - 1) * t);  // folded by one of them
  }
}

// Table 2 of the OneFlow paper (arXiv:2110.15032).
TEST(bytes_between_disjoint_devices) {
  for (int64_t p1 : {1, 2, 3})
    for (int64_t p2 : {1, 2, 4}) {
      PlacementRef a = mesh({p1}), b = mesh({p2}, p1);
      int64_t t = 12 * 12 * 4;
      for (const Sbp& from : {split(0), broadcast()}) {
        CHECK_EQ(bytes(a, from, b, split(0)), t);
        CHECK_EQ(bytes(a, from, b, split(1)), t);
        CHECK_EQ(bytes(a, from, b, broadcast()), p2 * t);
        CHECK_EQ(bytes(a, from, b, partial()), t);
      }
      CHECK_EQ(bytes(a, partial(), b, split(0)), p1 * t);
      CHECK_EQ(bytes(a, partial(), b, broadcast()), (p1 + p2 - 1) * t);
      CHECK_EQ(bytes(a, partial(), b, partial()), p1 * t);
    }
}

TEST(collectives_are_recognised) {
  auto kinds = [](const PlacementRef& where, const NdSbp& from, const NdSbp& to) {
    std::string text;
    BoxingPlanRef plan = plan_boxing(layout(where, from), layout(where, to), {8, 8}, 4);
    for (const Step& step : plan->steps) text += cat(name_of(step.kind), step.axes, ' ');
    return text;
  };
  Sbp s0 = split(0), s1 = split(1), b = broadcast(), p = partial();
  PlacementRef one = mesh({4}), two = mesh({2, 2});
  CHECK_EQ(kinds(one, {s0}, {b}), "all_gather[0] ");
  CHECK_EQ(kinds(one, {p}, {b}), "all_reduce[0] ");
  CHECK_EQ(kinds(one, {p}, {s1}), "reduce_scatter[0] ");
  CHECK_EQ(kinds(one, {s0}, {s1}), "all_to_all[0] ");
  CHECK_EQ(kinds(one, {b}, {s1}), "local[0] ");
  CHECK_EQ(kinds(one, {split(0, 2)}, {s0}), "nothing[] ");
  CHECK_EQ(kinds(two, {p, s0}, {b, s0}), "all_reduce[0] ");
  CHECK_EQ(kinds(two, {b, p}, {b, b}), "all_reduce[1] ");
  CHECK_EQ(kinds(two, {p, p}, {b, b}), "all_reduce[0, 1] ");
  CHECK_EQ(kinds(two, {s0, s0}, {s0, b}), "all_gather[1] ");
  CHECK_EQ(kinds(two, {s0, s0}, {b, s0}), "exchange[] ");  // the outer cut moves the inner one
  CHECK_EQ(kinds(two, {p, s1}, {b, b}), "reduce[] exchange[] ");
  CHECK_EQ(kinds(mesh({4, 2}), {p, b}, {b, b}), "all_reduce[0] ");
}

// The least sum of bytes over sequences of collectives on one axis each, through any layouts of the choices.
class AxisBySteps {
 public:
  AxisBySteps(std::vector<LayoutRef> all, const Dims& sizes) : all_(std::move(all)), sizes_(sizes) {}

  int64_t least(const LayoutRef& from, const LayoutRef& to) {
    std::map<const Layout*, int64_t> known = {{from.get(), 0}};
    std::set<std::pair<int64_t, const Layout*>> open = {{0, from.get()}};
    while (!open.empty()) {
      auto [bytes, at] = *open.begin();
      open.erase(open.begin());
      if (at == to.get()) return bytes;
      for (const LayoutRef& next : all_) {
        int64_t more = step(*at, *next);
        if (more < 0) continue;
        auto [place, is_new] = known.try_emplace(next.get(), INT64_MAX);
        if (bytes + more >= place->second) continue;
        place->second = bytes + more;
        open.insert({bytes + more, next.get()});
      }
    }
    return INT64_MAX;
  }

 private:
  // Bytes of one collective over an axis of two devices, or -1 when it takes another.
  int64_t step(const Layout& from, const Layout& to) {
    int changed = -1;
    for (int axis = 0; axis < 2; axis++)
      if (from.sbp[axis] != to.sbp[axis]) changed = changed < 0 ? axis : 2;
    if (changed < 0 || changed == 2) return -1;
    const Sbp &before = from.sbp[changed], &after = to.sbp[changed], &other = from.sbp[1 - changed];
    bool nested = other.kind == Kind::kSplit && changed == 0 &&
                  ((before.kind == Kind::kSplit && before.dim == other.dim) ||
                   (after.kind == Kind::kSplit && after.dim == other.dim));
    if (nested) return -1;
    if (before.kind == Kind::kPartial) {
      bool first = other.kind == Kind::kPartial && other.reduce != before.reduce && changed == 0;
      if (first || after.kind == Kind::kPartial) return -1;
      int64_t whole = 2 * numel(sizes_);  // of both groups
      if (other.kind == Kind::kSplit) whole /= 2;
      return 4 * (after.kind == Kind::kBroadcast ? 2 * whole : whole);
    }
    if (after.kind == Kind::kPartial) return 0;
    return 4 * lacking(from, to, sizes_);
  }

  std::vector<LayoutRef> all_;
  Dims sizes_;
};

TEST(no_sequence_over_single_axes_sends_less) {
  Dims sizes = {8, 4};
  NdSbp choices = {broadcast(), split(0), split(1), partial(), partial(ReduceOp::kMax)};
  std::vector<LayoutRef> all = layouts(mesh({2, 2}), sizes, choices);
  AxisBySteps by_steps(all, sizes);
  for (const LayoutRef& from : all)
    for (const LayoutRef& to : all) {
      int64_t bytes = plan_boxing(from, to, sizes, 4)->bytes, least = by_steps.least(from, to);
      if (bytes > least)
        test::fail(__FILE__, __LINE__,
                   cat("least ", least, ", got ", explain(*plan_boxing(from, to, sizes, 4))));
    }
}

TEST(the_work_is_balanced) {
  auto sent = [](const LayoutRef& from, const LayoutRef& to) {
    std::vector<int64_t> total;
    BoxingPlanRef plan = plan_boxing(from, to, {12, 12}, 1);
    for (const Step& step : plan->steps) {
      total.resize(step.sent.size());
      for (size_t i = 0; i < total.size(); i++) total[i] += step.sent[i];
    }
    return total;
  };
  PlacementRef four = mesh({4});
  using Counts = std::vector<int64_t>;
  CHECK_EQ(sent(layout(four, {partial()}), layout(four, {broadcast()})), (Counts{216, 216, 216, 216}));
  CHECK_EQ(sent(layout(four, {split(0)}), layout(four, {broadcast()})), (Counts{108, 108, 108, 108}));
  CHECK_EQ(sent(layout(mesh({2}), {broadcast()}), layout(mesh({2}, 2), {broadcast()})),
           (Counts{144, 144, 0, 0}));
}

TEST(senders_are_near) {
  LinkModel hosts;
  static const std::vector<int> kPairs = {0, 0, 1, 1};
  hosts.hosts = &kPairs;
  BoxingPlanRef plan =
      plan_boxing(layout(line({0, 2}), {broadcast()}), layout(line({1, 3}), {broadcast()}), {4}, 4, hosts);
  for (const Piece& piece : plan->pieces) CHECK_EQ(piece.at + 1, piece.targets[0]);
}

TEST(collectives_between_machines_go_in_two_levels_where_that_is_faster) {
  static const std::vector<int> kTwoByTwo = {0, 0, 1, 1}, kApart = {0, 1, 2, 3};
  LinkModel model;
  PlacementRef four = mesh({4});
  auto step = [&](const std::vector<int>& hosts, const Sbp& from, const Sbp& to, int64_t rows) {
    model.hosts = &hosts;
    return plan_boxing(layout(four, {from}), layout(four, {to}), {rows, 4}, 4, model)->steps.front();
  };
  constexpr int64_t kRows = 1 << 16, kBytes = kRows * 16;
  for (auto [from, to, far] : {std::tuple(partial(), broadcast(), 2 * kBytes),
                               {split(0), broadcast(), kBytes},
                               {partial(), split(0), kBytes}}) {
    Step two = step(kTwoByTwo, from, to, kRows);
    CHECK(two.two_level);
    CHECK_EQ(two.far_bytes, far);
    Step apart = step(kApart, from, to, kRows);  // no machine holds two
    CHECK(!apart.two_level);
    CHECK_EQ(apart.far_bytes, apart.bytes);
    CHECK_EQ(two.bytes, apart.bytes);
  }
  Step small = step(kTwoByTwo, partial(), broadcast(), 4);  // one exchange beats four
  CHECK(!small.two_level);
  model.hosts = &kTwoByTwo;
  PlacementRef square = mesh({2, 2});  // the first axis crosses machines, the second stays within one
  CHECK_EQ(
      explain(*plan_boxing(layout(square, {partial(), split(0)}), layout(square, {broadcast(), split(0)}),
                           {4, 4}, 4, model)),
      "cpu[[0, 1], [2, 3]] (P(sum), S(0)) → cpu[[0, 1], [2, 3]] (B, S(0)), shape [4, 4], 4 bytes an element\n"
      "1. all_reduce over axis 0: 128 bytes, 128 between machines (rank 0 sends 32, rank 1 sends 32, rank 2 "
      "sends "
      "32, rank 3 sends 32)\n");
  CHECK_EQ(plan_boxing(layout(square, {split(0), partial()}), layout(square, {split(0), broadcast()}), {4, 4},
                       4, model)
               ->steps.front()
               .far_bytes,
           0);
}

TEST(what_does_not_fit_is_refused) {
  LayoutRef b = layout(mesh({2}), {broadcast()}), s2 = layout(mesh({2}), {split(2)});
  CHECK_THROWS(Error, plan_boxing(b, s2, {4, 4}, 4), "boxing: sbp: cpu[0, 1] S(2) splits dim 2");
  CHECK_THROWS(Error, plan_boxing(s2, b, {4, 4}, 4), "boxing: sbp");
}

TEST(plans_are_kept) {
  LayoutRef s = layout(mesh({2}), {split(0)}), b = layout(mesh({2}), {broadcast()});
  BoxingPlanRef plan = plan_boxing(s, b, {6, 2}, 4);
  CHECK(plan == plan_boxing(s, b, {6, 2}, 4));
  LinkModel slow;
  slow.host_bytes_per_second = 1e6;
  for (const BoxingPlanRef& other : {plan_boxing(b, s, {6, 2}, 4), plan_boxing(s, b, {2, 6}, 4),
                                     plan_boxing(s, b, {6, 2}, 8), plan_boxing(s, b, {6, 2}, 4, slow)})
    CHECK(!(plan == other));
  for (int64_t i = 1; i < 6000; i++) CHECK_EQ(plan_boxing(s, b, {i}, 4)->bytes, 4 * i);
  CHECK_EQ(plan_boxing(s, b, {6, 2}, 4)->bytes, 48);
}

TEST(explain_prints_the_steps) {
  PlacementRef d = mesh({2});
  CHECK_EQ(explain(*plan_boxing(layout(d, {split(0)}), layout(d, {broadcast()}), {4, 3}, 4)),
           "cpu[0, 1] S(0) → cpu[0, 1] B, shape [4, 3], 4 bytes an element\n"
           "1. all_gather over axis 0: 48 bytes (rank 0 sends 24, rank 1 sends 24)\n");
  CHECK_EQ(explain(*plan_boxing(layout(d, {split(0)}), layout(d, {split(0)}), {4, 3}, 4)),
           "cpu[0, 1] S(0) → cpu[0, 1] S(0), shape [4, 3], 4 bytes an element\n1. nothing: 0 bytes\n");
}

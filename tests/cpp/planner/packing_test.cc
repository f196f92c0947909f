#include "planner/packing/packing.h"

#include <numeric>

#include "base/error.h"
#include "blocks.h"
#include "test.h"

using namespace tw;
using namespace tw::planner;

namespace {

constexpr Effort kEfforts[] = {Effort::kGreedy, Effort::kFast, Effort::kSearch};

Packing checked(const std::vector<Block>& blocks, Effort effort) {
  const Packing packing = pack(blocks, {.effort = effort, .budget = 0.001});
  check_packing(blocks, packing.offsets);
  CHECK_EQ(packing.lower_bound_bytes, lower_bound(blocks));
  CHECK_GE(packing.peak_bytes, packing.lower_bound_bytes);
  int64_t end = 0;
  for (size_t i = 0; i < blocks.size(); ++i) end = std::max(end, packing.offsets[i] + blocks[i].size_bytes);
  CHECK_LE(end, packing.peak_bytes);
  return packing;
}

int64_t live_peak(const std::vector<Block>& blocks, int32_t steps) {
  int64_t peak = 0;
  for (int32_t step = 0; step < steps; ++step) {
    int64_t live = 0;
    for (const Block& b : blocks) live += b.first <= step && step <= b.last ? b.size_bytes : 0;
    peak = std::max(peak, live);
  }
  return peak;
}

// The lowest peak, by putting blocks as low as those before them let them in every order: one of the orders
// is the best packing's own, from the bottom to the top.
int64_t best_peak(const std::vector<Block>& blocks) {
  std::vector<int32_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t best = INT64_MAX;
  do {
    std::vector<int64_t> top(blocks.size(), 0);
    int64_t peak = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      const Block& b = blocks[order[i]];
      int64_t bottom = 0;
      for (size_t j = 0; j < i; ++j) {
        const Block& other = blocks[order[j]];
        if (other.first <= b.last && b.first <= other.last) bottom = std::max(bottom, top[order[j]]);
      }
      bottom = (bottom + b.alignment - 1) / b.alignment * b.alignment;
      top[order[i]] = bottom + b.size_bytes;
      peak = std::max(peak, top[order[i]]);
    }
    best = std::min(best, peak);
  } while (std::ranges::next_permutation(order).found);
  return best;
}

}  // namespace

TEST(nothing_takes_no_bytes) {
  for (const Effort effort : kEfforts) {
    CHECK_EQ(checked({}, effort).peak_bytes, 0);
    const Packing packing = checked({{.size_bytes = 0, .first = 3, .last = 5}}, effort);
    CHECK_EQ(packing.peak_bytes, 0);
    CHECK_EQ(packing.offsets, (std::vector<int64_t>{0}));
  }
}

TEST(blocks_that_meet_in_a_step_lie_apart) {
  const std::vector<Block> meet = {{.size_bytes = 3, .first = 0, .last = 1},
                                   {.size_bytes = 5, .first = 1, .last = 2}};
  const std::vector<Block> follow = {{.size_bytes = 3, .first = 0, .last = 0},
                                     {.size_bytes = 5, .first = 1, .last = 2}};
  for (const Effort effort : kEfforts) {
    CHECK_EQ(checked(meet, effort).peak_bytes, 8);
    CHECK_EQ(checked(follow, effort).peak_bytes, 5);
  }
}

TEST(the_lower_bound_is_the_peak_of_live_bytes) {
  Random random(1);
  for (int round = 0; round < 100; ++round) {
    const auto blocks = random_blocks(random, 1 + random.below(40), 30, 100);
    CHECK_EQ(lower_bound(blocks), live_peak(blocks, 30));
  }
}

TEST(every_packer_is_sound_on_random_blocks) {
  Random random(2);
  for (int round = 0; round < 60; ++round) {
    auto blocks = random_blocks(random, 1 + random.below(80), 1 + random.below(60), 1000);
    if (round % 3 == 1) {
      for (Block& b : blocks) b.alignment = int64_t{1} << random.below(7);
    } else if (round % 3 == 2) {
      for (Block& b : blocks) b.size_bytes *= random.below(3);  // some empty
    }
    const int64_t greedy = checked(blocks, Effort::kGreedy).peak_bytes;
    const int64_t fast = checked(blocks, Effort::kFast).peak_bytes;
    CHECK_LE(fast, greedy);
    CHECK_LE(checked(blocks, Effort::kSearch).peak_bytes, fast);
  }
}

TEST(the_search_finds_the_best_packing_of_few_blocks) {
  Random random(3);
  int above_bound = 0;
  for (int round = 0; round < 150; ++round) {
    auto blocks = random_blocks(random, 7, 6, 12);
    if (round % 3 == 0) {
      for (Block& b : blocks) b.alignment = int64_t{1} << random.below(4);
      blocks[0].alignment = 1;  // a granule of 1, as in best_peak
    }
    const int64_t best = best_peak(blocks);
    const Packing packing = pack(blocks, {.effort = Effort::kSearch});
    check_packing(blocks, packing.offsets);
    CHECK_EQ(packing.peak_bytes, best);
    above_bound += best > packing.lower_bound_bytes;
  }
  CHECK_GT(above_bound, 5);  // else the bound alone would do
}

TEST(the_search_puts_a_cut_rectangle_together_again) {
  Random random(8);
  int beyond_greedy = 0;
  for (int round = 0; round < 10; ++round) {
    const auto blocks = cut_blocks(random, 100, 100, 100000);
    CHECK_EQ(lower_bound(blocks), 100000);
    const Packing packing = pack(blocks, {.effort = Effort::kSearch});
    check_packing(blocks, packing.offsets);
    CHECK_EQ(packing.peak_bytes, 100000);
    beyond_greedy += pack(blocks, {.effort = Effort::kGreedy}).peak_bytes > 100000;
  }
  CHECK_GT(beyond_greedy, 5);
}

TEST(a_search_that_gives_up_keeps_the_best_it_has_seen) {
  Random random(9);
  const auto blocks = cut_blocks(random, 400, 300, 1000000);
  const int64_t fast = checked(blocks, Effort::kFast).peak_bytes;
  const Packing packing = pack(blocks, {.effort = Effort::kSearch, .budget = 0.01});
  check_packing(blocks, packing.offsets);
  CHECK_GT(packing.peak_bytes, packing.lower_bound_bytes);  // it did give up
  CHECK_LE(packing.peak_bytes, fast);
}

TEST(nested_lifetimes_are_packed_perfectly) {
  std::vector<Block> blocks;
  for (int32_t i = 0; i < 1000; ++i) {
    blocks.push_back({.size_bytes = 1 + i * 7919 % 1000, .first = i, .last = 2000 - i});
  }
  const Packing packing = checked(blocks, Effort::kFast);
  CHECK_EQ(packing.peak_bytes, packing.lower_bound_bytes);
}

TEST(training_steps_come_within_two_hundredths_of_the_lower_bound) {
  Random random(4);
  for (const int32_t layers : {3, 12, 60, 300, 1500}) {
    const auto blocks = training_blocks(random, layers);
    const Packing packing = checked(blocks, Effort::kFast);
    CHECK_LE(static_cast<double>(packing.peak_bytes), 1.02 * static_cast<double>(packing.lower_bound_bytes));
  }
}

TEST(the_same_blocks_give_the_same_packing) {
  Random random(5);
  const auto blocks = random_blocks(random, 200, 100, 1000);
  for (const Effort effort : kEfforts) {
    const Packing one = checked(blocks, effort), other = checked(blocks, effort);
    CHECK_EQ(one.offsets, other.offsets);
    CHECK_EQ(one.packer, other.packer);
  }
}

TEST(time_without_live_blocks_parts_the_problem) {
  Random random(6);
  auto blocks = random_blocks(random, 30, 20, 100);
  const auto later = random_blocks(random, 30, 20, 100);
  for (Block b : later) {
    b.first += 100;
    b.last += 100;
    blocks.push_back(b);
  }
  const int64_t bound = lower_bound(blocks);
  CHECK_EQ(bound, std::max(live_peak(blocks, 50), live_peak(later, 50)));
  checked(blocks, Effort::kFast);
}

TEST(a_peak_that_is_enough_ends_the_work) {
  Random random(7);
  const auto blocks = random_blocks(random, 300, 200, 1000);
  const int64_t enough = 2 * lower_bound(blocks);
  const Packing packing = pack(blocks, {.enough_bytes = enough});
  CHECK_EQ(packing.packer, "skyline by lifetime");
  CHECK_LE(packing.peak_bytes, enough);
}

TEST(sizes_are_rounded_up_to_the_smallest_alignment) {
  const std::vector<Block> blocks = {{.size_bytes = 4, .alignment = 64},
                                     {.size_bytes = 65, .alignment = 128}};
  const Packing packing = checked(blocks, Effort::kFast);
  CHECK_EQ(packing.lower_bound_bytes, 64 + 128);
  CHECK_EQ(packing.peak_bytes, 192);
}

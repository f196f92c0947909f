// Blocks that are fixed or lie inside others, and what is refused.
#include "base/error.h"
#include "blocks.h"
#include "planner/packing/packing.h"
#include "test.h"

using namespace tw;
using namespace tw::planner;

TEST(fixed_blocks_lie_where_they_must) {
  Random random(1);
  for (int round = 0; round < 40; ++round) {
    auto blocks = random_blocks(random, 40, 30, 100);
    blocks.push_back({.size_bytes = 64, .first = 3, .last = 9, .fixed_offset = 128});
    blocks.push_back({.size_bytes = 32, .first = 10, .last = 12, .fixed_offset = 128});
    blocks.push_back({.size_bytes = 10, .first = 5, .last = 28, .fixed_offset = 20});
    for (const Effort effort : {Effort::kGreedy, Effort::kFast, Effort::kSearch}) {
      const Packing packing = pack(blocks, {.effort = effort, .budget = 0.01});
      check_packing(blocks, packing.offsets);
      CHECK_EQ(packing.offsets[41], 128);
      CHECK_GE(packing.peak_bytes, packing.lower_bound_bytes);
      CHECK_GE(packing.lower_bound_bytes, 192);
    }
  }
}

TEST(blocks_inside_others_share_their_memory) {
  const std::vector<Block> blocks = {
      {.size_bytes = 100, .first = 4, .last = 6, .alignment = 4},
      {.size_bytes = 40, .first = 0, .last = 4, .alignment = 4, .inside = 0, .delta = 0},
      {.size_bytes = 60, .first = 2, .last = 9, .alignment = 4, .inside = 0, .delta = 40},
      {.size_bytes = 8, .first = 3, .last = 3, .alignment = 8, .inside = 2, .delta = 16},
      {.size_bytes = 50, .first = 0, .last = 9, .alignment = 4},
  };
  const Packing packing = pack(blocks);
  check_packing(blocks, packing.offsets);
  CHECK_EQ(packing.offsets[1], packing.offsets[0]);
  CHECK_EQ(packing.offsets[2], packing.offsets[0] + 40);
  CHECK_EQ(packing.offsets[3], packing.offsets[0] + 56);
  CHECK_EQ(packing.offsets[0] % 8, 0);
  CHECK_EQ(packing.peak_bytes, 152);
}

TEST(long_chains_of_ties_are_followed_in_linear_time) {
  std::vector<Block> blocks = {{.size_bytes = 8}};
  for (int32_t i = 1; i < 100000; ++i) {
    blocks.push_back({.size_bytes = 8, .first = i, .last = i + 1, .inside = i - 1});
  }
  CHECK_EQ(pack(blocks).peak_bytes, 8);
}

TEST(bad_blocks_are_named) {
  const auto with = [](Block bad) { return std::vector<Block>{{.size_bytes = 1}, bad}; };
  CHECK_THROWS(Error, pack(with({.size_bytes = -1})), "the size of block 1 must be at least 0, got -1");
  CHECK_THROWS(Error, pack(with({.size_bytes = 1, .first = 5, .last = 4})),
               "block 1 ends in step 4, before it begins");
  CHECK_THROWS(Error, pack(with({.size_bytes = 1, .alignment = 12})),
               "the alignment of block 1 must be a power of two, got 12");
  CHECK_THROWS(Error, pack(with({.size_bytes = 1, .alignment = 0})), "the alignment of block 1");
  CHECK_THROWS(Error, pack(with({.size_bytes = 1, .fixed_offset = -2})), "block 1 cannot lie at offset -2");
  CHECK_THROWS(Error, pack(with({.size_bytes = 1, .alignment = 8, .fixed_offset = 4})),
               "block 1 is fixed at 4");
  CHECK_THROWS(Error, pack(with({.size_bytes = 1, .inside = 2})), "block 1 lies inside block 2 of 2");
  CHECK_THROWS(Error, pack(with({.size_bytes = 1, .inside = 1})), "block 1 lies inside itself");
  CHECK_THROWS(Error, pack(with({.size_bytes = 1, .inside = 0, .delta = -4})), "got -4");
  CHECK_THROWS(Error, pack(with({.size_bytes = 1, .alignment = 4, .inside = 0, .delta = 2})),
               "multiple of its alignment 4");
  CHECK_THROWS(Error, pack(with({.size_bytes = int64_t{1} << 61})), "more than 2^60 bytes");
  CHECK_THROWS(Error, lower_bound(with({.size_bytes = -1})), "block 1");
}

TEST(fixed_blocks_that_overlap_are_refused) {
  const std::vector<Block> blocks = {{.size_bytes = 8, .first = 0, .last = 3, .fixed_offset = 0},
                                     {.size_bytes = 8, .first = 3, .last = 4, .fixed_offset = 4}};
  CHECK_THROWS(Error, pack(blocks), "blocks 0 and 1 are fixed to places that overlap");
}

TEST(the_verifier_sees_every_fault) {
  const std::vector<Block> blocks = {
      {.size_bytes = 8, .first = 0, .last = 3, .alignment = 4},
      {.size_bytes = 8, .first = 3, .last = 4, .alignment = 4},
      {.size_bytes = 4, .first = 4, .last = 4, .alignment = 4, .inside = 1, .delta = 4},
      {.size_bytes = 4, .first = 9, .last = 9, .alignment = 4, .fixed_offset = 16}};
  const auto check = [&](std::vector<int64_t> offsets) { check_packing(blocks, offsets); };
  check({0, 8, 12, 16});
  check({8, 0, 4, 16});
  CHECK_THROWS(Error, check({0, 4, 8, 16}), "blocks 0 and 1 overlap in step 3");
  CHECK_THROWS(Error, check({4, 0, 4, 16}), "blocks 0 and 1 overlap in step 3");
  CHECK_THROWS(Error, check({0, 0, 4, 16}), "blocks 0 and 1 overlap");
  CHECK_THROWS(Error, check({0, 8, 8, 16}), "block 2 must lie at 12");
  CHECK_THROWS(Error, check({0, 8, 12, 20}), "block 3 must lie at 16");
  CHECK_THROWS(Error, check({0, 10, 14, 16}), "block 1 lies at 10");
  CHECK_THROWS(Error, check({-4, 8, 12, 16}), "block 0 lies at offset -4");
  CHECK_THROWS(Error, check({0, 8, 12}), "4 blocks, but 3 offsets");
}

// Any two blocks that overlap, found in quadratic time, are found by the sweep too, and no others are.
TEST(the_verifier_agrees_with_a_comparison_of_all_pairs) {
  Random random(2);
  int faulty = 0;
  for (int round = 0; round < 2000; ++round) {
    const auto blocks = random_blocks(random, 6, 8, 10);
    std::vector<int64_t> offsets;
    for (size_t i = 0; i < blocks.size(); ++i) offsets.push_back(random.below(80));
    bool overlap = false;
    for (size_t i = 0; i < blocks.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        const Block &a = blocks[i], &b = blocks[j];
        overlap |= a.first <= b.last && b.first <= a.last && offsets[i] < offsets[j] + b.size_bytes &&
                   offsets[j] < offsets[i] + a.size_bytes;
      }
    }
    faulty += overlap;
    if (overlap) {
      CHECK_THROWS(Error, check_packing(blocks, offsets), "overlap in step");
    } else {
      check_packing(blocks, offsets);
    }
  }
  CHECK_GT(faulty, 200);
  CHECK_LT(faulty, 1800);
}

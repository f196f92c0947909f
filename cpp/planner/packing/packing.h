// Where the blocks of an arena lie: dynamic storage allocation with all lifetimes known beforehand.
//
// A block needs its bytes from step `first` to step `last`, both included. Blocks that are live in one step
// may not share bytes; the peak, the highest byte in use, is to be as low as possible. Deciding whether a
// given peak can be reached is NP-complete (Garey and Johnson, problem SR2), so `pack` takes these stages:
//
//   1. reduce   blocks that must lie together become one; steps become sections, the sets of blocks that are
//               live together and in no larger such set; parts of the time that share no block are packed on
//               their own (problem.h)
//   2. place    a few greedy packers; the lowest peak counts (skyline.h, first_fit.h)
//   3. improve  blocks that reach over the goal come earlier in the order, and the skyline is built again, as
//               often as the budget allows (improve.h)
//   4. search   place or defer item after item, with proofs that a branch is lost; restart in an order that
//               has learned from what failed (search.h, restart.h)
//
// Every stage ends as soon as the peak meets the goal: the lower bound, or `enough_bytes` if that is more.
// Budgets count work, not time: the same blocks give the same packing on every machine.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tw::planner {

struct Block {
  int64_t size_bytes = 0;
  int32_t first = 0;  // the first and the last step in which it is live
  int32_t last = 0;
  int64_t alignment = 1;      // of its offset: a power of two
  int64_t fixed_offset = -1;  // at least 0: it has to lie there
  // At least 0: it lies `delta` bytes behind the beginning of that block, in memory that the two share.
  // Blocks tied together so are packed as one rectangle, live from the first step of any to the last of any.
  int32_t inside = -1;
  int64_t delta = 0;
};

enum class Effort : uint8_t {
  kGreedy,  // first fit in the order of size: what others are compared with
  kFast,    // under 0.1 s for hundreds of blocks, near-linear for many: stage 4 only for few, and short
  kSearch,  // up to about a minute where the goal is out of reach
};

struct PackOptions {
  Effort effort = Effort::kFast;
  int64_t enough_bytes = 0;  // a peak that needs no improvement
  double budget = 1;         // scales what stages 3 and 4 may spend
};

struct Packing {
  std::vector<int64_t> offsets;  // in bytes, one a block
  int64_t peak_bytes = 0;        // a multiple of the smallest alignment
  int64_t lower_bound_bytes = 0;
  std::string packer;  // the stage that found it: "skyline by lifetime", "improved skyline"
};

// No packing has a lower peak: the most bytes that are live in one step, sizes rounded up to the smallest
// alignment of all blocks, and the end of every fixed block.
int64_t lower_bound(std::span<const Block> blocks);

// Raises ValueError for a block that has a negative size, ends before it begins, or is aligned to no power of
// two, for fixed blocks that overlap, and for ties that cannot hold.
Packing pack(std::span<const Block> blocks, const PackOptions& options = {});

// Raises ValueError naming two blocks that overlap, or a block that lies where it may not. O(n log n).
void check_packing(std::span<const Block> blocks, std::span<const int64_t> offsets);

}  // namespace tw::planner

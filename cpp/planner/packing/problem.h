// Packing problems in the form in which the packers see them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/packing/packing.h"

namespace tw::planner {

// A rectangle: sections [begin, end) wide, `size` high. Heights are counted in granules, the smallest
// alignment of all blocks, so that nearly every item has alignment 1.
struct Item {
  int32_t begin = 0;
  int32_t end = 0;
  int64_t size = 0;
  int64_t alignment = 1;
  int64_t fixed = -1;  // where it has to lie, or -1
  int32_t block = 0;   // the block at its bottom

  int32_t width() const { return end - begin; }
  bool overlaps(const Item& other) const { return begin < other.end && other.begin < end; }
};

struct Problem {
  std::vector<Item> items;  // by begin, then by block
  int32_t sections = 0;
  int64_t lower_bound = 0;
  bool has_fixed = false;
  bool has_alignment = false;  // of more than a granule
};

struct Layout {
  std::vector<int64_t> offsets;  // in granules, one an item
  int64_t peak = 0;
};

// The blocks as independent problems, those with the largest lower bounds first.
struct Reduced {
  std::vector<Problem> problems;
  int64_t granule = 1;
};
Reduced reduce(std::span<const Block> blocks);

// What each block lies inside of, ties of ties followed to their end, and how far from its beginning. Checks
// blocks.
struct Anchor {
  int32_t block = 0;
  int64_t delta = 0;
};
std::vector<Anchor> anchors_of(std::span<const Block> blocks);

// The blocks that are tied to one, as one: alignment, size and lifetime cover all. Those that are tied have
// size 0.
std::vector<Block> merged(std::span<const Block> blocks, std::span<const Anchor> anchors);

inline int64_t round_up(int64_t value, int64_t alignment) {  // a power of two
  return (value + alignment - 1) & -alignment;
}

}  // namespace tw::planner

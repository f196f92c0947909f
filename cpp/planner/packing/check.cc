// The verifier of packings. It shares no code with the packers but that which reads ties.
#include <algorithm>
#include <map>
#include <vector>

#include "base/error.h"
#include "planner/packing/problem.h"

namespace tw::planner {

namespace {

void check_places(std::span<const Block> blocks, std::span<const int64_t> offsets,
                  std::span<const Anchor> anchors) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Block& b = blocks[i];
    TW_CHECK(offsets[i] >= 0, kValue, "check_packing: block ", i, " lies at offset ", offsets[i]);
    TW_CHECK(offsets[i] % b.alignment == 0, kValue, "check_packing: block ", i, " lies at ", offsets[i],
             ", which is no multiple of its alignment ", b.alignment);
    TW_CHECK(b.fixed_offset < 0 || offsets[i] == b.fixed_offset, kValue, "check_packing: block ", i,
             " must lie at ", b.fixed_offset, ", got ", offsets[i]);
    const int64_t wanted = offsets[anchors[i].block] + anchors[i].delta;
    TW_CHECK(offsets[i] == wanted, kValue, "check_packing: block ", i, " must lie at ", wanted,
             ", inside block ", anchors[i].block, ", got ", offsets[i]);
  }
}

}  // namespace

// Walks through the steps with the live blocks ordered by offset: who comes may touch neither neighbour.
void check_packing(std::span<const Block> blocks, std::span<const int64_t> offsets) {
  TW_CHECK(blocks.size() == offsets.size(), kValue, "check_packing: ", blocks.size(), " blocks, but ",
           offsets.size(), " offsets");
  const std::vector<Anchor> anchors = anchors_of(blocks);
  check_places(blocks, offsets, anchors);
  const std::vector<Block> wholes = merged(blocks, anchors);
  std::vector<size_t> coming;
  for (size_t i = 0; i < wholes.size(); ++i) {
    if (wholes[i].size_bytes > 0) coming.push_back(i);
  }
  std::vector<size_t> going = coming;
  std::ranges::stable_sort(coming, {}, [&](size_t i) { return wholes[i].first; });
  std::ranges::stable_sort(going, {}, [&](size_t i) { return wholes[i].last; });
  std::map<int64_t, size_t> live;
  auto gone = going.begin();
  for (const size_t i : coming) {
    for (; wholes[*gone].last < wholes[i].first; ++gone) live.erase(offsets[*gone]);
    const auto above = live.lower_bound(offsets[i]);
    const auto clash = [&](size_t j) {
      TW_FAIL(kValue, "check_packing: blocks ", std::min(i, j), " and ", std::max(i, j), " overlap in step ",
              wholes[i].first, ": they lie at ", offsets[std::min(i, j)], " and ", offsets[std::max(i, j)],
              " and have ", wholes[std::min(i, j)].size_bytes, " and ", wholes[std::max(i, j)].size_bytes,
              " bytes");
    };
    if (above != live.end() && above->first - offsets[i] < wholes[i].size_bytes) clash(above->second);
    if (above != live.begin()) {
      const auto below = std::prev(above);
      if (offsets[i] - below->first < wholes[below->second].size_bytes) clash(below->second);
    }
    live.emplace(offsets[i], i);
  }
}

}  // namespace tw::planner

#include "planner/packing/problem.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace tw::planner {

namespace {

constexpr int64_t kMostBytes = int64_t{1}
                               << 60;  // of all blocks together: sums and rounding stay within int64_t

void check_block(std::span<const Block> blocks, size_t i) {
  const Block& b = blocks[i];
  const auto count = static_cast<int32_t>(blocks.size());
  TW_CHECK(b.size_bytes >= 0, kValue, "pack: the size of block ", i, " must be at least 0, got ",
           b.size_bytes);
  TW_CHECK(b.last >= b.first, kValue, "pack: block ", i, " ends in step ", b.last,
           ", before it begins in step ", b.first);
  TW_CHECK(b.alignment > 0 && (b.alignment & (b.alignment - 1)) == 0 && b.alignment <= kMostBytes, kValue,
           "pack: the alignment of block ", i, " must be a power of two, got ", b.alignment);
  TW_CHECK(b.fixed_offset >= -1 && b.fixed_offset <= kMostBytes, kValue, "pack: block ", i,
           " cannot lie at offset ", b.fixed_offset);
  TW_CHECK(b.fixed_offset < 0 || b.fixed_offset % b.alignment == 0, kValue, "pack: block ", i,
           " is fixed at ", b.fixed_offset, ", which is no multiple of its alignment ", b.alignment);
  if (b.inside < 0) return;
  TW_CHECK(b.inside < count, kValue, "pack: block ", i, " lies inside block ", b.inside, " of ", count);
  TW_CHECK(b.fixed_offset < 0, kValue, "pack: block ", i,
           " lies inside another and is fixed; fix the other one");
  TW_CHECK(b.delta >= 0 && b.delta <= kMostBytes && b.delta % b.alignment == 0, kValue, "pack: block ", i,
           " must lie a multiple of its alignment ", b.alignment, " inside block ", b.inside, ", got ",
           b.delta);
}

// Sections by a sweep over begins and ends: a new section begins with the first begin after an end. What is
// live between two other events is a subset of what is live in a section.
struct Sweep {
  std::span<const Block> blocks;
  std::vector<int32_t> by_first, by_last;

  explicit Sweep(std::span<const Block> merged) : blocks(merged) {
    for (size_t i = 0; i < merged.size(); ++i) {
      if (merged[i].size_bytes > 0) by_first.push_back(static_cast<int32_t>(i));
    }
    by_last = by_first;
    std::ranges::stable_sort(by_first, {}, [&](int32_t i) { return blocks[i].first; });
    std::ranges::stable_sort(by_last, {}, [&](int32_t i) { return blocks[i].last; });
  }

  std::vector<Problem> run(int64_t granule) {
    std::vector<Problem> problems;
    std::vector<int32_t> place(blocks.size());  // of a block among the items of its problem
    size_t begun = 0;
    bool ended = true;
    int64_t live = 0;
    for (size_t over = 0; over < by_last.size();) {
      const bool begins =
          begun < by_first.size() && blocks[by_first[begun]].first <= blocks[by_last[over]].last;
      if (begins) {
        if (begun == over) problems.emplace_back();  // nothing is live: what follows is a problem of its own
        Problem& p = problems.back();
        if (ended) ++p.sections;
        ended = false;
        const int32_t i = by_first[begun++];
        place[i] = static_cast<int32_t>(p.items.size());
        p.items.push_back(item_of(i, p.sections - 1, granule));
        live += p.items.back().size;
        p.lower_bound = std::max(p.lower_bound, live);
      } else {
        Problem& p = problems.back();
        ended = true;
        Item& item = p.items[place[by_last[over++]]];
        item.end = p.sections;
        live -= item.size;
      }
    }
    return problems;
  }

  Item item_of(int32_t i, int32_t section, int64_t granule) const {
    const Block& b = blocks[i];
    const int64_t fixed = b.fixed_offset < 0 ? -1 : b.fixed_offset / granule;
    return {section, section, round_up(b.size_bytes, granule) / granule, b.alignment / granule, fixed, i};
  }
};

}  // namespace

std::vector<Anchor> anchors_of(std::span<const Block> blocks) {
  std::vector<Anchor> anchors(blocks.size());
  int64_t total = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    check_block(blocks, i);
    total += std::min(blocks[i].size_bytes, kMostBytes) + (blocks[i].inside < 0 ? 0 : blocks[i].delta);
    TW_CHECK(total < kMostBytes, kValue, "pack: the blocks up to ", i, " have more than 2^60 bytes");
    Anchor anchor{static_cast<int32_t>(i), 0};
    for (size_t ties = 0; blocks[anchor.block].inside >= 0; ++ties) {
      TW_CHECK(ties < blocks.size(), kValue, "pack: block ", i, " lies inside itself");
      anchor.delta += std::min(blocks[anchor.block].delta, kMostBytes);
      anchor.block = blocks[anchor.block].inside;
      if (anchor.block <
          static_cast<int32_t>(i)) {  // known already: chains of ties cost no more than one step each
        anchor.delta += anchors[anchor.block].delta;
        anchor.block = anchors[anchor.block].block;
      }
      TW_CHECK(anchor.delta < kMostBytes, kValue, "pack: block ", i,
               " lies more than 2^60 bytes inside another");
    }
    anchors[i] = anchor;
  }
  return anchors;
}

std::vector<Block> merged(std::span<const Block> blocks, std::span<const Anchor> anchors) {
  std::vector<Block> result(blocks.begin(), blocks.end());
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].inside < 0) continue;
    Block& whole = result[anchors[i].block];
    whole.first = std::min(whole.first, blocks[i].first);
    whole.last = std::max(whole.last, blocks[i].last);
    whole.alignment = std::max(whole.alignment, blocks[i].alignment);
    whole.size_bytes = std::max(whole.size_bytes, anchors[i].delta + blocks[i].size_bytes);
    result[i].size_bytes = 0;
    TW_CHECK(whole.fixed_offset < 0 || whole.fixed_offset % whole.alignment == 0, kValue, "pack: block ",
             anchors[i].block, " is fixed at ", whole.fixed_offset, ", but block ", i,
             " inside it is aligned to ", blocks[i].alignment);
  }
  return result;
}

Reduced reduce(std::span<const Block> blocks) {
  const std::vector<Block> wholes = merged(blocks, anchors_of(blocks));
  Reduced reduced;
  reduced.granule = kMostBytes;
  for (const Block& b : wholes) {
    if (b.size_bytes > 0) reduced.granule = std::min(reduced.granule, b.alignment);
  }
  reduced.problems = Sweep(wholes).run(reduced.granule);
  for (Problem& p : reduced.problems) {
    for (const Item& item : p.items) {
      p.has_alignment |= item.alignment > 1;
      p.has_fixed |= item.fixed >= 0;
      if (item.fixed >= 0) p.lower_bound = std::max(p.lower_bound, item.fixed + item.size);
    }
  }
  std::ranges::stable_sort(reduced.problems, std::ranges::greater{}, &Problem::lower_bound);
  return reduced;
}

int64_t lower_bound(std::span<const Block> blocks) {
  const Reduced reduced = reduce(blocks);
  return reduced.problems.empty() ? 0 : reduced.problems.front().lower_bound * reduced.granule;
}

}  // namespace tw::planner

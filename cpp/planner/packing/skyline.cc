#include "planner/packing/skyline.h"

#include <algorithm>

#include "base/error.h"

namespace tw::planner {

SkylinePacker::SkylinePacker(const Problem& problem) : problem_(problem), tree_(problem) {
  TW_ASSERT(problem.has_fixed, ==, false);
  layout_.offsets.resize(problem.items.size());
  stretches_.reserve(4 * problem.items.size());
}

// Links the stretch between its neighbours.
int32_t SkylinePacker::add(const Stretch& stretch) {
  const auto id = static_cast<int32_t>(stretches_.size());
  stretches_.push_back(stretch);
  if (stretch.left >= 0) stretches_[stretch.left].right = id;
  if (stretch.right >= 0) stretches_[stretch.right].left = id;
  return id;
}

// Two neighbours of one height as one.
int32_t SkylinePacker::join(int32_t left, int32_t right) {
  Stretch both = stretches_[left];
  both.end = stretches_[right].end;
  both.right = stretches_[right].right;
  stretches_[left].gone = stretches_[right].gone = true;
  return add(both);
}

void SkylinePacker::place(int32_t at, int32_t index) {
  const Item& item = problem_.items[index];
  const Stretch old = stretches_[at];
  stretches_[at].gone = true;
  const int64_t bottom = round_up(old.height, item.alignment);
  const int64_t top = bottom + item.size;
  layout_.offsets[index] = bottom;
  layout_.peak = std::max(layout_.peak, top);
  int32_t left = old.left;
  if (old.begin < item.begin) left = push(add({old.begin, item.begin, old.height, left, -1}));
  int32_t middle = add({item.begin, item.end, top, left, item.end < old.end ? -1 : old.right});
  if (item.end < old.end) push(add({item.end, old.end, old.height, middle, old.right}));
  if (left >= 0 && stretches_[left].height == top) middle = join(left, middle);
  const int32_t right = stretches_[middle].right;
  if (right >= 0 && stretches_[right].height == top) middle = join(middle, right);
  push(middle);
}

void SkylinePacker::raise(int32_t at) {
  const int32_t left = stretches_[at].left, right = stretches_[at].right;
  TW_ASSERT(std::max(left, right), >=, 0);  // a skyline without neighbours is flat: some item fits
  int64_t height = right < 0 ? stretches_[left].height : stretches_[right].height;
  if (left >= 0) height = std::min(height, stretches_[left].height);
  stretches_[at].height = height;
  if (left >= 0 && stretches_[left].height == height) at = join(left, at);
  if (right >= 0 && stretches_[right].height == height) at = join(at, right);
  push(at);
}

int32_t SkylinePacker::push(int32_t stretch) {
  heap_.push_back({stretches_[stretch].height, stretches_[stretch].begin, stretch});
  std::ranges::push_heap(heap_, higher);
  return stretch;
}

bool SkylinePacker::higher(const Lowest& a, const Lowest& b) {
  return a.height != b.height ? a.height > b.height : a.begin > b.begin;
}

const Layout& SkylinePacker::pack(std::span<const int32_t> rank) {
  tree_.reset(rank);
  stretches_.clear();
  heap_.clear();
  layout_.peak = 0;
  push(add({0, problem_.sections, 0, -1, -1}));
  for (size_t left = problem_.items.size(); left > 0;) {
    ++steps_;
    std::ranges::pop_heap(heap_, higher);
    const int32_t at = heap_.back().stretch;
    heap_.pop_back();
    if (stretches_[at].gone) continue;
    const int32_t item = tree_.first_within(stretches_[at].begin, stretches_[at].end);
    if (item < 0) {
      raise(at);
      continue;
    }
    tree_.remove(item);
    place(at, item);
    --left;
  }
  return layout_;
}

}  // namespace tw::planner

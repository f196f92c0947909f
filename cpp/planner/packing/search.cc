#include "planner/packing/search.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/error.h"

namespace tw::planner {

namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

bool same(const Item& a, const Item& b) {
  return a.begin == b.begin && a.end == b.end && a.size == b.size && a.alignment == b.alignment;
}

}  // namespace

Search::Search(const Problem& problem) : problem_(problem), items_(problem.items) {
  TW_ASSERT(problem.has_fixed, ==, false);
  const size_t count = items_.size(), sections = static_cast<size_t>(problem.sections);
  for (size_t i = 0; i < count; ++i) {
    first_neighbour_.push_back(neighbours_.size());
    for (size_t j = 0; j < count && items_[j].begin < items_[i].end; ++j) {
      if (j != i && items_[i].overlaps(items_[j])) neighbours_.push_back(static_cast<int32_t>(j));
    }
  }
  first_neighbour_.push_back(neighbours_.size());
  size_t begun = 0;
  for (int32_t s = 0; s < problem.sections; ++s) {
    first_at_.push_back(at_.size());
    first_item_.push_back(static_cast<int32_t>(begun));
    while (begun < count && items_[begun].begin == s) ++begun;
    for (size_t i = 0; i < begun; ++i) {
      if (items_[i].end > s) at_.push_back(static_cast<int32_t>(i));
    }
  }
  first_at_.push_back(at_.size());
  first_item_.push_back(static_cast<int32_t>(count));
  for (auto* of_items : {&state_, &bottom_, &bound_, &limit_, &support_}) of_items->resize(count);
  for (auto* of_sections : {&rest_, &floor_, &free_, &cross_}) of_sections->resize(sections);
  is_touched_.resize(sections);
  layout_.offsets.resize(count);
}

Verdict Search::run(int64_t capacity, std::span<const int32_t> rank, Focus focus, int64_t failures,
                    int64_t work) {
  capacity_ = capacity;
  rank_ = rank;
  focus_ = focus;
  failures_left_ = failures;
  end_of_work_ = work_ + work;
  undo_.clear();
  blame_.assign(items_.size(), 0);
  for (auto* cells : {&state_, &bottom_, &bound_, &limit_, &support_, &rest_, &floor_, &free_, &cross_}) {
    std::ranges::fill(*cells, 0);
  }
  for (const Item& item : items_) {
    for (int32_t s = item.begin; s < item.end; ++s) {
      rest_[s] += item.size;
      ++free_[s];
      cross_[s] += s > item.begin;
    }
  }
  if (problem_.lower_bound > capacity) return Verdict::kDoesNotFit;
  if (!solve(0, problem_.sections)) return gives_up() ? Verdict::kGaveUp : Verdict::kDoesNotFit;
  layout_.peak = 0;
  for (size_t i = 0; i < items_.size(); ++i) {
    layout_.peak = std::max(layout_.peak, layout_.offsets[i] + items_[i].size);
  }
  return Verdict::kFits;
}

// Sections [low, high), to which no unplaced item from outside reaches.
bool Search::solve(int32_t low, int32_t high) {
  struct Part {
    int64_t room;
    int32_t low, high;
  };
  std::vector<Part> parts;
  for (int32_t s = low; s < high; ++s) {
    if (rest_[s] == 0) continue;
    const int64_t room = capacity_ - floor_[s] - rest_[s];
    if (cross_[s] == 0 || s == low) parts.push_back({room, s, s + 1});
    parts.back().high = s + 1;
    parts.back().room = std::min(parts.back().room, room);
  }
  work_ += high - low;
  if (parts.size() > 1) std::ranges::stable_sort(parts, {}, &Part::room);
  return std::ranges::all_of(parts, [&](const Part& part) { return solve_part(part.low, part.high); });
}

bool Search::solve_part(int32_t low, int32_t high) {
  if (gives_up()) return false;
  const int32_t item = choose(low, high);
  failures_left_ -= item < 0;
  if (item < 0) return false;  // all that is left is deferred
  return branch(item, false, low, high) || branch(item, true, low, high);
}

bool Search::branch(int32_t item, bool defers, int32_t low, int32_t high) {
  const size_t before = undo_.size();
  defers ? defer(item) : place(item);
  const bool possible = infer(low, high);
  failures_left_ -= !possible;
  const bool solved = possible && solve(low, high);
  for (; undo_.size() > before; undo_.pop_back()) *undo_.back().cell = undo_.back().value;
  return solved;
}

bool Search::comes_first(int32_t item, int32_t other) const {
  if (other < 0 || bottom_[item] != bottom_[other]) return other < 0 || bottom_[item] < bottom_[other];
  return rank_[item] < rank_[other];
}

// A free item, or -1 if there is none.
int32_t Search::choose(int32_t low, int32_t high) {
  int32_t best = -1;
  if (focus_ == Focus::kTightest) {
    const int32_t section = tightest(low, high);
    if (section < 0) return -1;
    for (const int32_t i : items_at(section)) {
      if (state_[i] == kFree && comes_first(i, best)) best = i;
    }
  } else {
    for (int32_t i = first_item_[low]; i < first_item_[high]; ++i) {
      if (state_[i] == kFree && comes_first(i, best)) best = i;
    }
    work_ += first_item_[high] - first_item_[low];
  }
  return best;
}

int32_t Search::tightest(int32_t low, int32_t high) {
  int32_t best = -1;
  const auto key = [&](int32_t s) { return std::tuple(capacity_ - floor_[s] - rest_[s], floor_[s]); };
  for (int32_t s = low; s < high; ++s) {
    if (free_[s] > 0 && (best < 0 || key(s) < key(best))) best = s;
  }
  work_ += 3 * (high - low);
  return best;
}

// The section's floor has to be looked at again.
void Search::touch(int32_t section) {
  if (is_touched_[section]) return;
  is_touched_[section] = 1;
  touched_.push_back(section);
}

void Search::raise(int32_t item, int64_t bound) {
  for (int32_t s = items_[item].begin; s < items_[item].end; ++s) {
    if (floor_[s] == bound_[item]) touch(s);
  }
  set(bound_[item], bound);
}

void Search::become_free(int32_t i) {
  set(state_[i], kFree);
  for (int32_t s = items_[i].begin; s < items_[i].end; ++s) set(free_[s], free_[s] + 1);
}

void Search::place(int32_t item) {
  const Item& placed = items_[item];
  const int64_t bottom = bottom_[item], top = bottom + placed.size;
  layout_.offsets[item] = bottom;
  set(state_[item], kPlaced);
  for (int32_t s = placed.begin; s < placed.end; ++s) {
    set(rest_[s], rest_[s] - placed.size);
    set(free_[s], free_[s] - 1);
    touch(s);
    if (s > placed.begin) set(cross_[s], cross_[s] - 1);
  }
  for (const int32_t i : neighbours(item)) {
    if (state_[i] == kPlaced) continue;
    const int64_t lowest = round_up(top, items_[i].alignment);
    if (bottom_[i] < lowest) set(bottom_[i], lowest);
    if (state_[i] == kDeferred && bottom < limit_[i]) become_free(i);
    if (bound_[i] < lowest) raise(i, lowest);
  }
  work_ += static_cast<int64_t>(neighbours(item).size());
}

// Of equal items the first in the order is the lowest, so all are deferred with it.
void Search::defer(int32_t item) {
  const auto one = [&](int32_t i) {
    set(state_[i], kDeferred);
    set(limit_[i], bottom_[i] + items_[i].size);
    for (int32_t s = items_[i].begin; s < items_[i].end; ++s) set(free_[s], free_[s] - 1);
    set(support_[i], i);
  };
  one(item);
  for (int32_t i = first_item_[items_[item].begin]; i < first_item_[items_[item].begin + 1]; ++i) {
    if (state_[i] == kFree && same(items_[i], items_[item])) one(i);
  }
}

// Bounds of deferred items and floors of sections, until nothing changes. False: there is no way on.
bool Search::infer(int32_t low, int32_t high) {
  bool possible = infer_deferred(first_item_[low], first_item_[high]);
  for (const int32_t s : touched_) {
    possible = possible && infer_section(s);
    is_touched_[s] = 0;
  }
  touched_.clear();
  return possible;
}

// The bound of a deferred item stands on one blocker, `support_`, and is found anew only when that one has
// changed.
bool Search::infer_deferred(int32_t first, int32_t last) {
  for (bool changed = true; changed;) {
    changed = false;
    for (int32_t i = first; i < last; ++i) {
      if (state_[i] != kDeferred) continue;
      const auto support = static_cast<int32_t>(support_[i]);
      if (blocks(support, i) && end_below(support, i) <= bound_[i]) continue;
      int32_t best = -1;
      for (const int32_t j : neighbours(i)) {
        if (blocks(j, i) && (best < 0 || end_below(j, i) < end_below(best, i))) best = j;
      }
      work_ += static_cast<int64_t>(neighbours(i).size());
      if (best < 0 || end_below(best, i) + items_[i].size > capacity_) return false;
      if (best != support) set(support_[i], best);
      if (end_below(best, i) <= bound_[i]) continue;
      raise(i, end_below(best, i));
      changed = true;
    }
  }
  work_ += last - first;
  return true;
}

// All that is not placed in a section has to fit between the lowest bound and the capacity.
bool Search::infer_section(int32_t section) {
  if (rest_[section] == 0) return true;
  int64_t lowest = kNever;
  for (const int32_t i : items_at(section)) {
    if (state_[i] != kPlaced) lowest = std::min(lowest, bound_[i]);
  }
  work_ += static_cast<int64_t>(items_at(section).size());
  if (floor_[section] != lowest) set(floor_[section], lowest);
  if (lowest + rest_[section] <= capacity_) return true;
  for (const int32_t i : items_at(section)) blame_[i] += state_[i] != kPlaced;
  return false;
}

}  // namespace tw::planner

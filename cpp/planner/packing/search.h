// The search: does everything fit below a capacity?
//
// Any packing can be pushed down until each item lies on the ground or on another one (it is then
// bottom-justified), so only such packings are looked for, from the ground up:
//
//   1. choose  an item that is not placed: in the lowest place or in the section with the least room to lose,
//              and of several there the first in an order
//   2. branch  either it lies directly on what is placed (`place`), or something that is not placed yet comes
//              beneath it (`defer`): until one of its blockers is placed, items that can begin below where
//              its end would have been. An item without any blocker left could be pushed down: such a branch
//              need not be followed
//   3. infer   a deferred item lies no lower than the lowest end of a blocker; a section where the lowest
//              item to come and all that lies above it reach over the capacity ends the branch
//   4. part    where no unplaced item crosses from one section to the next, the two sides are searched on
//              their own: a side that fails fails the whole
//
// Bottom-justified packings and bounds by sections are the ground on which MiniMalloc stands (Moffitt,
// "MiniMalloc: a lightweight memory allocator for hardware-accelerated machine learning", ASPLOS 2023);
// choosing where it is tightest is in the spirit of TelaMalloc (Maas et al., ASPLOS 2023). Deferring with
// blockers takes the place of MiniMalloc's order of offsets: it allows any item to be chosen next, and prunes
// near the item rather than across all sections.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/packing/problem.h"

namespace tw::planner {

enum class Focus : uint8_t {
  kLowest,    // items come in the order of their places
  kTightest,  // the section with the least room to lose comes first
};
enum class Verdict : uint8_t { kFits, kDoesNotFit, kGaveUp };

class Search {
 public:
  explicit Search(const Problem& problem);  // without fixed items

  // rank[item] is its place in the order. Gives up after so many branches that failed
  // at once, or so many steps of work.
  Verdict run(int64_t capacity, std::span<const int32_t> rank, Focus focus, int64_t failures, int64_t work);
  const Layout& layout() const { return layout_; }  // after kFits
  // How often an item was not placed yet when its section ended a branch of the last run.
  const std::vector<int64_t>& blame() const { return blame_; }
  int64_t work() const { return work_; }  // steps since the beginning, some 3 ns each

 private:
  enum State : int64_t { kFree, kDeferred, kPlaced };
  struct Undo {
    int64_t* cell;
    int64_t value;
  };

  bool gives_up() const { return failures_left_ <= 0 || work_ >= end_of_work_; }
  bool solve(int32_t low, int32_t high);
  bool solve_part(int32_t low, int32_t high);
  bool branch(int32_t item, bool defers, int32_t low, int32_t high);
  int32_t choose(int32_t low, int32_t high);
  int32_t tightest(int32_t low, int32_t high);
  bool comes_first(int32_t item, int32_t other) const;

  void place(int32_t item);
  void defer(int32_t item);
  void become_free(int32_t item);
  void raise(int32_t item, int64_t bound);
  void touch(int32_t section);
  bool infer(int32_t low, int32_t high);
  bool infer_deferred(int32_t first, int32_t last);
  bool infer_section(int32_t section);

  // Whether j may still come beneath the deferred item i, and where i lies no lower than if it does.
  bool blocks(int32_t j, int32_t i) const { return j != i && state_[j] != kPlaced && bound_[j] < limit_[i]; }
  int64_t end_below(int32_t j, int32_t i) const {
    return round_up(bound_[j] + items_[j].size, items_[i].alignment);
  }
  void set(int64_t& cell, int64_t value) {
    undo_.push_back({&cell, cell});
    cell = value;
  }
  std::span<const int32_t> neighbours(int32_t item) const {
    return std::span(neighbours_)
        .subspan(first_neighbour_[item], first_neighbour_[item + 1] - first_neighbour_[item]);
  }
  std::span<const int32_t> items_at(int32_t section) const {
    return std::span(at_).subspan(first_at_[section], first_at_[section + 1] - first_at_[section]);
  }

  const Problem& problem_;
  std::span<const Item> items_;
  std::vector<size_t> first_neighbour_, first_at_;
  std::vector<int32_t> neighbours_, at_;  // items that overlap an item; items that are live in a section
  std::vector<int32_t> first_item_;       // that begins in a section or later

  // What a branch changes, and `undo_` restores.
  std::vector<int64_t> state_;    // of an item
  std::vector<int64_t> bottom_;   // where what is placed lets it lie
  std::vector<int64_t> bound_;    // no lower than this, with all that is known
  std::vector<int64_t> limit_;    // of a deferred item: its blockers begin below
  std::vector<int64_t> support_;  // of a deferred item: the blocker with the lowest end
  std::vector<int64_t> rest_;     // of a section: what is not placed
  std::vector<int64_t> floor_;    // the lowest bound of an item that is not placed
  std::vector<int64_t> free_;     // how many items are free
  std::vector<int64_t> cross_;    // items that are not placed and live in the section before, too
  std::vector<Undo> undo_;
  std::vector<int64_t> blame_;  // of an item

  std::vector<int32_t> touched_;  // sections whose floor may have changed
  std::vector<char> is_touched_;

  std::span<const int32_t> rank_;
  Focus focus_ = Focus::kLowest;
  int64_t capacity_ = 0, work_ = 0, failures_left_ = 0, end_of_work_ = 0;
  Layout layout_;
};

}  // namespace tw::planner

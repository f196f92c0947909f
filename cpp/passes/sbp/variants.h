// In which layouts a value is available while nodes are taken in their order, as numbers.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "passes/sbp/sources.h"

namespace tw::passes {

// The sets of layouts in which a value has been available, by number, and the ways between them.
class Variants {
 public:
  struct Move {
    int next = -1;  // -1: not looked at yet
    double seconds = 0;
  };

  int only(const sbp::Layout* layout) { return number_of({layout}); }
  int demand(const Demand& wanted) {
    auto at = std::ranges::find(demands_, wanted);
    if (at == demands_.end()) at = demands_.insert(at, wanted);
    return static_cast<int>(at - demands_.begin());
  }
  Move move(int variant, int demand, const SearchValue& value, BoxingTimes& times) {
    std::vector<Move>& row = moves_[variant];
    if (row.size() <= static_cast<size_t>(demand)) row.resize(demand + 1);
    if (row[demand].next >= 0) return row[demand];
    Source source = source_of(sets_[variant], demands_[demand], value, times);
    Layouts set = sets_[variant];
    if (source.made) set.push_back(source.made);
    Move result{number_of(std::move(set)), source.seconds};  // may move the rows
    return moves_[variant][demand] = result;
  }

 private:
  using Layouts = std::vector<const sbp::Layout*>;

  int number_of(Layouts set) {
    std::ranges::sort(set);
    auto at = std::ranges::find(sets_, set);
    if (at != sets_.end()) return static_cast<int>(at - sets_.begin());
    sets_.push_back(std::move(set));
    moves_.emplace_back();
    return static_cast<int>(sets_.size()) - 1;
  }

  std::vector<Layouts> sets_;
  std::vector<Demand> demands_;
  std::vector<std::vector<Move>> moves_;
};

}  // namespace tw::passes

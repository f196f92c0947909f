// No way of sending takes fewer bytes than plans do: one element on up to four devices, all ways searched.
//
// A device holds sums of contributions, each a set of them; sending copies one sum to another device, and
// sums without a common contribution are added up for nothing. The goal is that each group of the destination
// holds a set, the same on all its replicas, which together are all contributions, each once.
#include <unordered_set>

#include "boxing_layouts.h"
#include "sbp/boxing.h"
#include "sbp/boxing_cells.h"
#include "test.h"

using namespace tw;
using namespace tw::sbp;

namespace {

constexpr int kDevices = 4;
using Sums = uint16_t;   // bit s: the sum of the contributions in s is held; s < 16
using State = uint64_t;  // the sums of each device

Sums sums_of(State state, int device) { return static_cast<Sums>(state >> (16 * device)); }

Sums closed(Sums sums) {
  for (Sums before = 0; before != sums;) {
    before = sums;
    for (int a = 1; a < 16; a++)
      for (int b = a + 1; b < 16; b++)
        if ((sums >> a & 1) && (sums >> b & 1) && (a & b) == 0) sums |= 1 << (a | b);
  }
  return sums;
}

class Search {
 public:
  Search(const Layout& from, const Layout& to) {
    Dims free(4, -1);
    Cells held = cells_of(from, {}, free), wanted = cells_of(to, {}, free);
    const std::vector<Ranks>& groups = held.cells[0].groups;
    for (size_t i = 0; i < groups.size(); i++)
      for (int64_t rank : groups[i]) start_ |= State{1} << (16 * rank + (1 << i));
    contributions_ = groups.size();
    wanted_ = wanted.cells[0].groups;
  }

  // The fewest sends, or `enough` when there is none with fewer.
  int least(int enough) const {
    std::unordered_set<State> seen = {start_}, now = {start_};
    for (int sends = 0; sends < enough; sends++) {
      std::unordered_set<State> next;
      for (State state : now) {
        if (is_goal(state)) return sends;
        if (sends + 1 < enough)
          each_send(state, [&](State after) {
            if (seen.insert(after).second) next.insert(after);
          });
      }
      now = std::move(next);
    }
    return enough;
  }

 private:
  template <class Body>
  void each_send(State state, Body body) const {
    for (int from = 0; from < kDevices; from++)
      for (int sum = 1; sum < 16; sum++) {
        if (!(sums_of(state, from) >> sum & 1)) continue;
        for (int to = 0; to < kDevices; to++) {
          Sums before = sums_of(state, to);
          if (before >> sum & 1) continue;
          Sums after = closed(static_cast<Sums>(before | 1 << sum));
          body(state ^ (State(before ^ after) << (16 * to)));
        }
      }
  }
  bool is_goal(State state) const {
    size_t ways = 1;
    for (size_t i = 0; i < contributions_; i++) ways *= wanted_.size();
    for (size_t way = 0; way < ways; way++) {
      std::vector<int> sets(wanted_.size());
      size_t rest = way;
      for (size_t i = 0; i < contributions_; i++, rest /= wanted_.size())
        sets[rest % wanted_.size()] |= 1 << i;
      bool holds = true;
      for (size_t group = 0; group < sets.size(); group++)
        for (int64_t rank : wanted_[group])
          holds = holds && (sets[group] == 0 || (sums_of(state, static_cast<int>(rank)) >> sets[group] & 1));
      if (holds) return true;
    }
    return false;
  }

  State start_ = 0;
  size_t contributions_ = 0;
  std::vector<Ranks> wanted_;
};

}  // namespace

TEST(no_way_of_sending_takes_fewer_bytes) {
  std::vector<PlacementRef> placements = {mesh({1}),
                                          mesh({1}, 3),
                                          mesh({2}),
                                          mesh({2}, 1),
                                          mesh({2}, 2),
                                          mesh({3}),
                                          line({3, 0, 2}),
                                          mesh({4}),
                                          mesh({2, 2}),
                                          mesh({2, 1}, 1),
                                          placement("cpu", {2, 2}, {0, 2, 1, 3})};
  std::vector<LayoutRef> all;
  for (const PlacementRef& where : placements)
    for (const LayoutRef& made : layouts(where, {}, {broadcast(), partial()})) all.push_back(made);
  int searched = 0;
  for (const LayoutRef& from : all)
    for (const LayoutRef& to : all) {
      int bytes = static_cast<int>(plan_boxing(from, to, {}, 1)->bytes);
      if (bytes > 5) continue;  // half a minute for those of 6
      searched++;
      int least = Search(*from, *to).least(bytes + 1);
      if (least != bytes)
        test::fail(__FILE__, __LINE__,
                   cat(least, " sends are the least: ", explain(*plan_boxing(from, to, {}, 1))));
    }
  CHECK_GE(searched, 300);
}

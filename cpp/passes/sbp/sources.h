// How a value that is available in some layouts comes to lie as somebody wants it.
#pragma once

#include <unordered_map>
#include <vector>

#include "passes/sbp/search.h"

namespace tw::passes {

class BoxingTimes {
 public:
  struct Entry {
    double seconds = 0;
    bool same = false;  // both put the same elements in the same places: there is nothing to do
  };
  explicit BoxingTimes(double meeting_seconds = 0, double meeting_seconds_per_byte = 0)
      : meeting_seconds_(meeting_seconds), meeting_seconds_per_byte_(meeting_seconds_per_byte) {}
  const Entry& of(const sbp::Layout& from, const sbp::Layout& to, const SearchValue& value);

 private:
  struct Key {
    const sbp::Layout *from, *to;
    Dims sizes;
    int64_t element_bytes;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  double meeting_seconds_, meeting_seconds_per_byte_;
  std::unordered_map<Key, Entry, Hash> known_;  // boxings are planned once
};

enum class DemandKind : uint8_t {
  kTake,   // the layout, which stays available
  kTurn,   // what is cheapest to box to the layout, by a node that is in the graph
  kFinal,  // any layout without a pending reduction, on the placement of `layout`
};

struct Demand {
  DemandKind kind = DemandKind::kTake;
  const sbp::Layout* layout = nullptr;
  friend bool operator==(const Demand&, const Demand&) = default;
};

struct Source {
  int from = 0;                       // place in what is available
  const sbp::Layout* made = nullptr;  // a boxing to this layout, available from then on; null: none
  double seconds = 0;
};
Source source_of(const std::vector<const sbp::Layout*>& available, const Demand& demand,
                 const SearchValue& value, BoxingTimes& times);

// What a node's candidate demands of its input number `input`, which is there.
Demand demand_of(const SearchNode& node, const Candidate& candidate, size_t input);
inline Demand demand_of(const FinalUse& use) {
  return {use.wanted ? DemandKind::kTake : DemandKind::kFinal, use.wanted ? use.wanted : use.beside};
}

// What a choice costs. One that is shorter than the nodes: what these cost, without the last uses.
double cost_of(const Problem& problem, const std::vector<int>& choice, BoxingTimes& times);

}  // namespace tw::passes

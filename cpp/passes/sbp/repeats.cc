// Colours are refined: a node begins with what it is, and takes in, round by round, the colours of those that
// it reads and is read by (Weisfeiler and Leman, 1968).
#include "passes/sbp/repeats.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace tw::passes {

namespace {

// Enough to tell the places within a layer apart, and few, so that only the first and last layers differ from
// the others.
constexpr int kRounds = 4;

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = (a ^ b * 0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9;
  return x ^ x >> 29;
}

uint64_t colour_of(const SearchValue& value) {
  uint64_t colour = mix(value.element_bytes, std::bit_cast<uint64_t>(value.given));
  for (int64_t size : value.sizes) colour = mix(colour, static_cast<uint64_t>(size));
  return mix(colour, std::bit_cast<uint64_t>(value.times));
}

uint64_t colour_of(const SearchNode& node) {
  uint64_t colour = mix(node.inputs.size(), node.boxing);
  for (const Candidate& candidate : node.candidates) {
    colour = mix(colour, std::bit_cast<uint64_t>(candidate.seconds));
    for (const sbp::Layout* layout : candidate.layouts) colour = mix(colour, std::bit_cast<uint64_t>(layout));
  }
  return colour;
}

class Colours {
 public:
  explicit Colours(const Problem& problem) : problem_(problem) {
    for (const SearchValue& value : problem.values) values_.push_back(colour_of(value));
    for (const SearchNode& node : problem.nodes) nodes_.push_back(colour_of(node));
  }

  void refine() {
    std::vector<uint64_t> values = values_, nodes = nodes_;
    for (size_t n = 0; n < nodes.size(); n++) {
      const SearchNode& node = problem_.nodes[n];
      auto meet = [&](int value, uint64_t place) {
        if (value < 0) return;
        nodes[n] = mix(nodes[n], mix(values_[value], place));
        values[value] += mix(nodes_[n], place);  // readers have no order
      };
      for (size_t i = 0; i < node.inputs.size(); i++) meet(node.inputs[i], 2 * i);
      for (size_t o = 0; o < node.outputs.size(); o++) meet(node.outputs[o], 2 * o + 1);
    }
    for (const FinalUse& use : problem_.uses)
      values[use.value] +=
          mix(mix(1, std::bit_cast<uint64_t>(use.wanted)), std::bit_cast<uint64_t>(use.beside));
    values_ = std::move(values);
    nodes_ = std::move(nodes);
  }

  const std::vector<uint64_t>& nodes() const { return nodes_; }

 private:
  const Problem& problem_;
  std::vector<uint64_t> values_, nodes_;
};

}  // namespace

std::vector<int> repeats_of(const Problem& problem) {
  Colours colours(problem);
  for (int round = 0; round < kRounds; round++) colours.refine();
  std::unordered_map<uint64_t, int> counts, numbers;
  for (uint64_t colour : colours.nodes()) counts[colour]++;
  std::vector<int> repeats;
  for (uint64_t colour : colours.nodes()) {
    bool alone = counts[colour] == 1;
    repeats.push_back(alone ? -1
                            : numbers.try_emplace(colour, static_cast<int>(numbers.size())).first->second);
  }
  return repeats;
}

}  // namespace tw::passes

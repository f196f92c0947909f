// What is told apart, and what is not.
#include "passes/sbp/repeats.h"

#include <set>

#include "test.h"

using namespace tw;
using namespace tw::passes;

namespace {

// A chain of `blocks` pairs of nodes: one of two candidates and one of three.
Problem chain(int blocks) {
  Problem problem;
  sbp::LayoutRef whole = sbp::layout(sbp::placement("cpu", {2}, {0, 1}), {sbp::broadcast()});
  problem.values.push_back({{4, 4}, 4, whole.get()});
  for (int i = 0; i < 2 * blocks; i++) {
    problem.values.push_back({{4, 4}});
    SearchNode node{{i}, {i + 1}, {}, false};
    for (int c = 0; c < 2 + i % 2; c++) node.candidates.push_back({{whole.get(), whole.get()}, 1.0 * c});
    problem.nodes.push_back(node);
  }
  problem.uses.push_back({2 * blocks, nullptr, nullptr});
  return problem;
}

}  // namespace

TEST(nodes_at_the_same_place_of_inner_blocks_are_equal) {
  std::vector<int> repeats = repeats_of(chain(20));
  std::set<int> inner(repeats.begin() + 10, repeats.end() - 10);
  CHECK_EQ(inner.size(), 2u);
  CHECK(!inner.contains(-1));
  for (size_t i = 10; i + 12 < repeats.size(); i++) CHECK_EQ(repeats[i], repeats[i + 2]);
  CHECK_EQ(repeats.front(), -1);
  CHECK_EQ(repeats.back(), -1);
}

TEST(another_size_layout_or_time_sets_a_node_apart) {
  const size_t at = 20;
  auto differs = [&](auto change) {
    Problem problem = chain(20);
    change(problem);
    return repeats_of(problem)[at] == -1;
  };
  CHECK(!differs([](Problem&) {}));
  CHECK(differs([](Problem& p) { p.values[at].sizes = {8, 2}; }));
  CHECK(differs([](Problem& p) { p.values[at + 1].element_bytes = 8; }));
  CHECK(differs([](Problem& p) { p.nodes[at].candidates[0].seconds = 7; }));
  CHECK(differs([](Problem& p) { p.nodes[at].boxing = true; }));
  CHECK(differs([](Problem& p) { p.uses.push_back({static_cast<int>(at) + 1, nullptr, nullptr}); }));
}

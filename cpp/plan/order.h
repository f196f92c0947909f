// What the registers say about the order of firings, whatever the speed of the actors.
#pragma once

#include <vector>

#include "plan/edges.h"

namespace tw::plan {

// Distances count tokens along a path of registers, forwards (data) and backwards (free slots).
//
// Between steps: a path of distance d from the end of a's last firing to the begin of b's first says that b
// begins step k only after a has ended step k - d. Between firings: the tokens on a cycle never change in
// number, so a cycle through two actors that holds one token lets only one of them run at a time.
class Order {
 public:
  explicit Order(const Plan& plan);

  // All firings of `a` in a step end before any of `b` in the same step begins.
  bool before(int a, int b) { return distance(steps_, 2 * a + 1, 2 * b) == 0; }
  // All firings of `a` in a step end before any of `b` in the next step begins.
  bool before_next(int a, int b) { return distance(steps_, 2 * a + 1, 2 * b) <= 1; }
  // Never in the middle of a firing at the same time.
  bool exclusive(int a, int b) { return distance(firings_, a, b) + distance(firings_, b, a) <= 1; }

 private:
  static constexpr int kFar = 2;  // greater distances prove nothing here
  struct Link {
    int to, tokens;
  };
  struct Links {
    std::vector<std::vector<Link>> from;
    std::vector<std::vector<char>> distances;  // by source, once asked for
  };
  static int distance(Links& links, int from, int to);
  void add_steps(int from, int to, int tokens, int rate);

  Links steps_;    // of actor a: 2a is the begin of its first firing in a step, 2a + 1 the end of its last
  Links firings_;  // registers whose both ends have its rate
};

}  // namespace tw::plan

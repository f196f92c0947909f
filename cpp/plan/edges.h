// Registers as edges between actors, and the tokens that lie on them.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace tw::plan {

// A register as one of its readers sees it.
struct Edge {
  int reg = -1, producer = -1, consumer = -1;
  int produce_firings = 1;  // of the producer, that share a slot
  int consume_firings = 1;
};
std::vector<Edge> edges_of(const Plan& plan);

// Tokens as firings begin and end. A slot is taken when the first firing that fills it begins and handed over
// when the last ends; the reader gives it back when the last of its firings on it ends.
class Tokens {
 public:
  explicit Tokens(const Plan& plan);

  bool ready(int actor) const { return blocked_by(actor) == -1; }
  void begin(int actor);
  void end(int actor);
  int64_t firings(int actor) const { return firings_[actor]; }  // that have ended

  const std::vector<Edge>& edges() const { return edges_; }
  const std::vector<int>& inputs(int actor) const { return inputs_[actor]; }    // edges
  const std::vector<int>& outputs(int actor) const { return outputs_[actor]; }  // edges
  // "'loss' waits for data in 'h' from 'forward'", or "" when it is ready.
  std::string reason(int actor) const;

 private:
  int blocked_by(int actor) const;  // an edge, or -1
  const Plan& plan_;
  std::vector<Edge> edges_;
  std::vector<std::vector<int>> inputs_, outputs_;
  std::vector<int> data_, free_;  // by edge
  std::vector<int64_t> firings_;
};

}  // namespace tw::plan

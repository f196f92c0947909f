// The ways in which a node may run on a placement, and what each takes.
#pragma once

#include <unordered_map>

#include "ir/graph.h"
#include "machine/machine.h"
#include "passes/sbp/search.h"

namespace tw::passes {

class CandidateMaker {
 public:
  explicit CandidateMaker(const machine::Machine& machine) : machine_(machine) {}

  // Products of the op's signatures over the axes of the placement. A signature's splits are balanced, or cut
  // as one of the tensors may be: `layouts` says in which layouts inputs may come, and outputs are to be
  // (none: in any). Throws kPlacement where no signature gives those. Nodes that are alike are looked at
  // once.
  const std::vector<Candidate>& candidates_of(const ir::Node& node, const sbp::PlacementRef& placement,
                                              const std::vector<std::vector<const sbp::Layout*>>& layouts);

 private:
  machine::Machine machine_;
  std::unordered_map<std::string, std::vector<Candidate>> known_;
};

}  // namespace tw::passes

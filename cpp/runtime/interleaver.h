// Runs a plan of chains and communications on the CPU, on the caller's thread alone: the body of a loop, or a
// branch, whose iterations are too short to hand them to others. While a communication is under way the
// chains run that do not wait for it; between two chains it is looked at.
//
//   plan      chain 0, comm x (after 0), chain 1 (after 0), chain 2 (after 1 and x)
//   runs      chain 0 | x is posted | chain 1 | waits for x | chain 2
//
// Communications come one after the other, in the order of the plan, which is that of all processes.
#pragma once

#include <memory>
#include <vector>

#include "runtime/chain.h"

namespace tw::runtime {

class Interleaver {
 public:
  // Both must outlive it.
  Interleaver(const plan::Plan& plan, const std::vector<std::unique_ptr<Chain>>& chains);

  // A step, to its end. After an error a communication may be under way, in the step's memory: until it is
  // given up, or another step begins.
  void run(const StepBindings& step);

 private:
  bool ready(int actor) const;
  void communicate();
  void end_communication();

  const std::vector<std::unique_ptr<Chain>>& chains_;
  std::vector<std::vector<int>> after_;   // by actor: those of the same step that it waits for
  std::vector<int> computing_, meeting_;  // chains and communications, in the order of the plan
  std::vector<char> over_;                // by actor
  size_t next_chain_ = 0, next_meeting_ = 0;
  Ref<comm::Request> posted_;  // of meeting_[next_meeting_]; null while that has not begun
};

}  // namespace tw::runtime

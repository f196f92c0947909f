// Runs a plan of several actors on accelerators. What an actor does is queued on the streams of the devices,
// so that threads would gain nothing: the caller queues one actor after the other, in the order of the plan,
// and returns while the devices are at work.
//
//   plan      chain 0, comm x (after 0), chain 1 (after 0), chain 2 (after 1 and x)
//   queues    chain 0 | x is posted | chain 1 | the streams wait for x | chain 2
//
// A communication begins when what was queued before it on its devices has run, and goes on beside what is
// queued later, until an actor comes that waits for its register: before that the streams of its devices
// wait, not the caller. Who posts in the order of the plan posts in that of all processes.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "runtime/chain.h"

namespace tw::runtime {

class Sequence {
 public:
  // Both must outlive it. Throws kInternal for actors other than chains and communications of rate 1.
  Sequence(const plan::Plan& plan, const std::vector<std::unique_ptr<Chain>>& chains);

  // Queues a step. After an error nothing of it is posted any more, and other processes know the cause.
  void run(const StepBindings& step, Observer* observer);
  // Whether the last run threw in the part that writes variables.
  bool failed_in_commit() const { return chains_[at_]->failed_in_commit(); }

 private:
  struct Posted {
    size_t actor;
    Ref<comm::Request> request;
  };
  void find_awaited();
  void queue(size_t actor, const StepBindings& step, Observer* observer);
  void post(size_t actor, Observer* observer);
  void await(size_t actor);
  void give_up(const std::string& reason);

  const plan::Plan& plan_;
  const std::vector<std::unique_ptr<Chain>>& chains_;
  std::vector<int> awaited_;   // by actor: the last communication that has to be over before it; -1: none
  std::deque<Posted> posted_;  // and not awaited, in their order
  size_t at_ = 0;
};

}  // namespace tw::runtime

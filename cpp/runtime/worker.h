// A worker runs the streams that it was given as state machines, one firing at a time. Communications that it
// has begun it looks at between firings; while it has nothing else to do it sleeps until one of them moves.
#pragma once

#include <vector>

#include "plan/edges.h"
#include "runtime/chain.h"
#include "runtime/mailbox.h"

namespace tw::runtime {

class Engine;

// What a worker is told. Messages about registers are 2·edge for data and 2·edge + 1 for a slot that is free
// again.
enum Message : uint32_t { kStepMessage = 0xffffffff, kStopMessage = 0xfffffffe, kQuitMessage = 0xfffffffd };

// An actor as its worker sees it.
struct ActorState {
  int number = -1;
  const plan::Actor* plan = nullptr;
  Chain* chain = nullptr;
  std::vector<int> inputs, outputs;  // edges
  int64_t firing = 0;                // the next
  int64_t bound_step = -1;           // whose addresses the chain has
  bool listed = false;               // it is in its worker's list of actors that can fire
  Ref<comm::Request> posted;         // a communication that has begun and not ended
  int64_t posted_ns = 0;             // when, where somebody observes
  std::exception_ptr held;           // what it threw for a step that nobody has asked for yet
};

class Worker {
 public:
  Worker(Engine& engine, int number, size_t mailbox_size)
      : mailbox(mailbox_size), engine_(engine), number_(number) {}

  void add(ActorState* actor);
  // Any thread: another step was started. However many of these the worker has not seen, they are one
  // message, and host inputs, which run ahead, want only the first, until they hold an error.
  void tell_step() {
    if (!step_told_.exchange(true)) mailbox.push(kStepMessage);
  }
  // Runs until it is told to quit.
  void run(int spins);
  // Runs until there is nothing to do; false: until it is told to quit.
  bool run_until_idle();
  // Back to the state before step `step`, with nothing in the mailbox. While no worker runs.
  void reset(int64_t step);
  // Ends what it has posted, by an error, and tells other processes why: none of its communications will
  // come.
  void give_up(const std::string& reason);

  Mailbox mailbox;

 private:
  bool handle(uint32_t message);  // false: quit
  void deliver(uint32_t message);
  void begin_step();
  void consider(ActorState& actor);
  bool can_fire(const ActorState& actor) const;
  void fire(ActorState& actor);
  void hold(ActorState& actor, std::exception_ptr error);
  bool end_posted();
  void rest();
  void end(ActorState& actor);
  static void report(const ActorState& actor, Observer* observer);
  void hand_over(ActorState& actor);
  void send(uint32_t message, int actor);
  void failed(ActorState& actor, std::exception_ptr error);
  ActorState* next();

  Engine& engine_;
  const int number_;
  std::vector<ActorState*> actors_;
  std::vector<ActorState*> ready_;  // a ring with room for all
  size_t ready_begin_ = 0, ready_count_ = 0;
  std::vector<ActorState*> posted_;  // communications that have begun and not ended
  int64_t steps_ = 0;                // that were started
  std::atomic<bool> step_told_{false};
  bool only_inputs_ = true;  // of the host
  bool awake_ = false;       // one was started since the beginning or the last failure: host inputs run ahead
};

}  // namespace tw::runtime

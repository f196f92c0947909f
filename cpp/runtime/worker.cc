#include "runtime/worker.h"

#include <algorithm>

#include "runtime/engine.h"

namespace tw::runtime {

void Worker::run(int spins) {
  while (run_until_idle()) mailbox.wait(spins);
}

bool Worker::run_until_idle() {
  for (;;) {
    uint32_t message;
    while (mailbox.pop(&message))
      if (!handle(message)) return false;
    end_posted();
    if (ready_count_ > 0)
      fire(*next());
    else if (!posted_.empty())
      rest();
    else if (mailbox.empty())
      return true;
  }
}

void Worker::add(ActorState* actor) {
  actors_.push_back(actor);
  only_inputs_ &= actor->plan->kind == plan::ActorKind::kHostInput;
  if (actor->plan->kind == plan::ActorKind::kComm) mailbox.ring_progress();
}

// Until a communication has ended, or somebody has sent a message.
void Worker::rest() {
  constexpr int64_t kNapMs = 100;
  comm::progress_until([&] { return end_posted() || !mailbox.empty(); }, kNapMs);
}

bool Worker::handle(uint32_t message) {
  if (message == kQuitMessage) return false;
  if (message == kStopMessage)
    engine_.stop_here(*this);
  else if (message == kStepMessage)
    begin_step();
  else
    deliver(message);
  return true;
}

void Worker::begin_step() {
  auto holds = [](const ActorState* actor) { return actor->held != nullptr; };
  if (!only_inputs_ || std::ranges::any_of(actors_, holds)) step_told_.store(false);
  steps_ = engine_.started_.load();
  awake_ = true;
  for (ActorState* actor : actors_) {
    if (actor->held && actor->firing / actor->plan->rate < steps_)
      failed(*actor, actor->held);
    else
      consider(*actor);
  }
}

void Worker::deliver(uint32_t message) {
  Engine::EdgeState& state = engine_.edges_[message / 2];
  if (message % 2 == 0) {
    state.data++;
    consider(engine_.actors_[state.edge.consumer]);
  } else {
    state.free++;
    consider(engine_.actors_[state.edge.producer]);
  }
}

void Worker::send(uint32_t message, int actor) {
  int worker = engine_.worker_of_stream_[engine_.plan_.actors[actor].stream];
  if (worker == number_)
    deliver(message);
  else
    engine_.workers_[worker]->mailbox.push(message);
}

bool Worker::can_fire(const ActorState& actor) const {
  if (actor.posted) return false;
  if (actor.plan->kind == plan::ActorKind::kHostInput) {
    if (!awake_ || actor.held) return false;
  } else if (actor.firing >= steps_ * actor.plan->rate) {
    return false;
  }
  for (int e : actor.inputs)
    if (engine_.edges_[e].data == 0) return false;
  for (int e : actor.outputs) {
    const Engine::EdgeState& state = engine_.edges_[e];
    if (actor.firing % state.edge.produce_firings == 0 && state.free == 0) return false;
  }
  return true;
}

void Worker::consider(ActorState& actor) {
  if (actor.listed || !can_fire(actor)) return;
  actor.listed = true;
  ready_[(ready_begin_ + ready_count_++) % ready_.size()] = &actor;
}

ActorState* Worker::next() {
  ActorState* actor = ready_[ready_begin_];
  ready_begin_ = (ready_begin_ + 1) % ready_.size();
  ready_count_--;
  actor->listed = false;
  return actor;
}

void Worker::fire(ActorState& actor) {
  int64_t step = actor.firing / actor.plan->rate;
  bool ahead = actor.plan->kind == plan::ActorKind::kHostInput;
  try {
    if (!ahead && actor.bound_step != step) {
      actor.chain->bind(engine_.steps.at(step).bindings);
      actor.bound_step = step;
    }
    Observer* observer = engine_.observer_.load(std::memory_order_relaxed);
    if (actor.plan->kind == plan::ActorKind::kComm) {
      actor.posted_ns = observer ? now_ns() : 0;
      actor.posted = actor.chain->post(actor.firing);
      if (actor.posted) return posted_.push_back(&actor);
      report(actor, observer);
    } else if (observer) {
      actor.chain->fire_observed(actor.firing, *observer);
    } else {
      actor.chain->fire(actor.firing);
    }
  } catch (...) {
    return ahead ? hold(actor, std::current_exception()) : failed(actor, std::current_exception());
  }
  end(actor);
}

// What a host input throws is an error of the step that wants it, which may not have been started.
void Worker::hold(ActorState& actor, std::exception_ptr error) {
  actor.held = std::move(error);
  step_told_.store(false);
  if (engine_.started_.load() > actor.firing / actor.plan->rate) tell_step();
}

void Worker::end(ActorState& actor) {
  int64_t step = actor.firing / actor.plan->rate;
  if (actor.plan->commit >= 0) engine_.steps.at(step).touched.store(true, std::memory_order_relaxed);
  hand_over(actor);
  bool ahead = actor.plan->kind == plan::ActorKind::kHostInput;
  if (!ahead && actor.firing % actor.plan->rate == 0) engine_.actor_done(step);
  consider(actor);
}

void Worker::report(const ActorState& actor, Observer* observer) {
  if (!observer || actor.posted_ns == 0) return;
  int64_t now = now_ns();
  observer->launched(actor.number, actor.firing, 0, actor.posted_ns, now);
  observer->fired(actor.number, actor.firing, actor.posted_ns, now);
}

// Whether one has ended.
bool Worker::end_posted() {
  bool any = false;
  for (size_t i = 0; i < posted_.size();) {
    ActorState& actor = *posted_[i];
    try {
      if (!actor.chain->complete(*actor.posted)) {
        i++;
        continue;
      }
    } catch (...) {
      failed(actor, std::current_exception());
      return true;
    }
    posted_.erase(posted_.begin() + static_cast<int64_t>(i));
    actor.posted = nullptr;
    report(actor, engine_.observer_.load(std::memory_order_relaxed));
    end(actor);
    any = true;
  }
  return any;
}

void Worker::give_up(const std::string& reason) {
  for (ActorState* actor : actors_)
    if (actor->plan->kind == plan::ActorKind::kComm || actor->chain->meets()) actor->chain->give_up(reason);
}

// Counts what this firing has taken, and only then tells those who wait for what it has written or read: the
// actor itself may be among them.
void Worker::hand_over(ActorState& actor) {
  int64_t begun = actor.firing++;
  for (int e : actor.outputs)
    if (begun % engine_.edges_[e].edge.produce_firings == 0) engine_.edges_[e].free--;
  for (int e : actor.inputs)
    if (actor.firing % engine_.edges_[e].edge.consume_firings == 0) engine_.edges_[e].data--;
  for (int e : actor.outputs) {
    const plan::Edge& edge = engine_.edges_[e].edge;
    if (actor.firing % edge.produce_firings == 0) send(2 * static_cast<uint32_t>(e), edge.consumer);
  }
  for (int e : actor.inputs) {
    const plan::Edge& edge = engine_.edges_[e].edge;
    if (actor.firing % edge.consume_firings == 0) send(2 * static_cast<uint32_t>(e) + 1, edge.producer);
  }
}

void Worker::failed(ActorState& actor, std::exception_ptr error) {
  engine_.fail(actor.firing / actor.plan->rate, std::move(error), actor.chain->failed_in_commit());
}

void Worker::reset(int64_t step) {
  uint32_t message;
  while (mailbox.pop(&message)) continue;
  ready_.resize(actors_.size());
  ready_begin_ = ready_count_ = 0;
  posted_.clear();
  steps_ = step;
  step_told_.store(false);
  awake_ = false;
  for (ActorState* actor : actors_) {
    int64_t begin = step * actor->plan->rate;
    actor->chain->resume();
    if (actor->firing > begin) actor->chain->rewind(actor->firing - begin);
    actor->firing = begin;
    actor->bound_step = -1;
    actor->listed = false;
    actor->posted = nullptr;
    actor->held = nullptr;
  }
}

}  // namespace tw::runtime

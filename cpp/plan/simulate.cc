#include "plan/simulate.h"

#include <algorithm>
#include <queue>

#include "base/cat.h"
#include "plan/edges.h"

namespace tw::plan {

namespace {

class Simulator {
 public:
  Simulator(const Plan& plan, const SimulateOptions& options)
      : plan_(plan),
        options_(options),
        tokens_(plan),
        on_stream_(plan.streams.size()),
        busy_(plan.streams.size(), false) {
    int counted = 0;
    for (size_t a = 0; a < plan.actors.size(); a++) {
      on_stream_[plan.actors[a].stream].push_back(static_cast<int>(a));
      counted += plan.actors[a].kind != ActorKind::kHostInput;
    }
    remaining_.assign(options.steps, counted);
  }

  Timeline run() {
    for (size_t s = 0; s < on_stream_.size(); s++) look(static_cast<int>(s));
    while (!ends_.empty() && done_ < options_.steps) {
      Event event = ends_.top();
      ends_.pop();
      now_ = event.time;
      end(event.actor);
    }
    line_.steps_done = done_;
    if (done_ < options_.steps) explain();
    return std::move(line_);
  }

 private:
  struct Event {
    double time;
    int64_t order;  // of events at the same time
    int actor;
    bool operator>(const Event& other) const {
      return std::pair(time, order) > std::pair(other.time, other.order);
    }
  };

  int64_t step_of(int actor) const { return tokens_.firings(actor) / plan_.actors[actor].rate; }
  bool may_begin(int actor) const {
    bool ahead = plan_.actors[actor].kind == ActorKind::kHostInput;
    return step_of(actor) <
           (ahead ? options_.steps : std::min(options_.steps, done_ + options_.steps_in_flight));
  }

  // Begins the oldest firing that can begin on an idle stream.
  void look(int stream) {
    if (busy_[stream]) return;
    int best = -1;
    for (int actor : on_stream_[stream])
      if (may_begin(actor) && tokens_.ready(actor) && (best < 0 || step_of(actor) < step_of(best)))
        best = actor;
    if (best < 0) return;
    busy_[stream] = true;
    tokens_.begin(best);
    double seconds = seconds_of(best);
    line_.firings.push_back({best, tokens_.firings(best), now_, now_ + seconds});
    ends_.push({now_ + seconds, static_cast<int64_t>(line_.firings.size()), best});
  }

  double seconds_of(int actor) const {
    const Actor& a = plan_.actors[actor];
    int64_t firing = tokens_.firings(actor), phase = firing % a.rate;
    double seconds = 0;
    for (size_t i = 0; i < a.launches.size(); i++) {
      When when = a.launches[i].when;
      if ((when == When::kFirst && phase != 0) || (when == When::kLast && phase != a.rate - 1)) continue;
      seconds += options_.seconds ? options_.seconds(actor, static_cast<int>(i), firing) : 1;
    }
    return seconds;
  }

  void end(int actor) {
    int64_t step = step_of(actor);
    tokens_.end(actor);
    busy_[plan_.actors[actor].stream] = false;
    bool step_ends = false;
    if (plan_.actors[actor].kind != ActorKind::kHostInput && step_of(actor) > step) {
      remaining_[step]--;
      while (done_ < options_.steps && remaining_[done_] == 0) done_++, step_ends = true;
      if (step_ends) line_.seconds = now_;
    }
    if (step_ends) {
      for (size_t s = 0; s < on_stream_.size(); s++) look(static_cast<int>(s));
      return;
    }
    look(plan_.actors[actor].stream);
    for (int e : tokens_.outputs(actor)) look(plan_.actors[tokens_.edges()[e].consumer].stream);
    for (int e : tokens_.inputs(actor)) look(plan_.actors[tokens_.edges()[e].producer].stream);
  }

  void explain() {
    for (size_t a = 0; a < plan_.actors.size(); a++) {
      int actor = static_cast<int>(a);
      if (step_of(actor) > done_ || tokens_.ready(actor)) continue;
      line_.stall += cat(line_.stall.empty() ? "" : "; ", tokens_.reason(actor));
    }
  }

  const Plan& plan_;
  const SimulateOptions& options_;
  Tokens tokens_;
  std::vector<std::vector<int>> on_stream_;
  std::vector<char> busy_;
  std::vector<int> remaining_;  // actors, by step
  int done_ = 0;                // steps
  double now_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> ends_;
  Timeline line_;
};

}  // namespace

Timeline simulate(const Plan& plan, const SimulateOptions& options) { return Simulator(plan, options).run(); }

}  // namespace tw::plan

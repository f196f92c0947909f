#include "planner/actors.h"

#include <set>

namespace tw::planner {

namespace {

class Cutter {
 public:
  explicit Cutter(const MemoryLayout& layout) : flights_(layout.flights), count_(layout.steps.size()) {}

  std::vector<ActorSteps> run() {
    std::set<size_t> cuts = {0, count_};
    for (const Flight& flight : flights_) cuts.insert({flight.step, flight.step + 1, flight.done});
    size_t begun = 0;  // flights
    for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut) {
      if (begun < flights_.size() && flights_[begun].step == *cut) {
        begun++;
        add_crossing(*cut);
      } else {
        add_chain(*cut, *std::next(cut));
      }
    }
    if (actors_.empty() || actors_.back().crossing || landed_ < flights_.size()) add_chain(count_, count_);
    return std::move(actors_);
  }

 private:
  int add(ActorSteps actor) {
    actors_.push_back(std::move(actor));
    return static_cast<int>(actors_.size()) - 1;
  }

  void add_crossing(size_t step) {
    if (chain_ < 0) add_chain(step, step);
    ActorSteps actor{step, step + 1, true, {chain_}};
    if (!crossings_.empty()) actor.after.push_back(crossings_.back());
    crossings_.push_back(add(std::move(actor)));
  }

  // It waits for the last of the crossings that are over by then: the others ended before that one.
  void add_chain(size_t begin, size_t end) {
    ActorSteps actor{begin, end, false, {}};
    if (chain_ >= 0) actor.after.push_back(chain_);
    size_t landed = landed_;
    while (landed < crossings_.size() && flights_[landed].done <= begin) landed++;
    if (landed > landed_) actor.after.push_back(crossings_[landed - 1]);
    landed_ = landed;
    chain_ = add(std::move(actor));
  }

  const std::vector<Flight>& flights_;
  const size_t count_;
  std::vector<ActorSteps> actors_;
  std::vector<int> crossings_;  // actors
  int chain_ = -1;              // the last
  size_t landed_ = 0;           // crossings that some chain waits for
};

}  // namespace

std::vector<ActorSteps> cut_actors(const MemoryLayout& layout) { return Cutter(layout).run(); }

}  // namespace tw::planner

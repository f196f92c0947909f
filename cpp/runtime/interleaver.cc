#include "runtime/interleaver.h"

#include <algorithm>

#include "base/error.h"

namespace tw::runtime {

Interleaver::Interleaver(const plan::Plan& plan, const std::vector<std::unique_ptr<Chain>>& chains)
    : chains_(chains), after_(plan.actors.size()), over_(plan.actors.size()) {
  std::vector<int> writer(plan.registers.size(), -1);
  for (size_t a = 0; a < plan.actors.size(); a++) {
    const plan::Actor& actor = plan.actors[a];
    const bool comm = actor.kind == plan::ActorKind::kComm;
    TW_CHECK((comm || actor.kind == plan::ActorKind::kChain) && actor.rate == 1, kInternal, "run: actor '",
             actor.name, "' cannot run in a region");
    (comm ? meeting_ : computing_).push_back(static_cast<int>(a));
    for (int reg : actor.writes) writer[reg] = static_cast<int>(a);
  }
  // Registers with a token speak of the step before, all of which is over.
  for (size_t a = 0; a < plan.actors.size(); a++)
    for (int reg : plan.actors[a].reads)
      if (plan.registers[reg].initial == 0) after_[a].push_back(writer[reg]);
}

void Interleaver::run(const StepBindings& step) {
  posted_ = nullptr;
  next_chain_ = next_meeting_ = 0;
  std::ranges::fill(over_, 0);
  for (const auto& chain : chains_) chain->bind(step);
  for (;;) {
    communicate();
    if (next_chain_ < computing_.size() && ready(computing_[next_chain_])) {
      const int actor = computing_[next_chain_++];
      chains_[actor]->fire(0);
      over_[actor] = 1;
    } else if (posted_) {
      chains_[meeting_[next_meeting_]]->follow(*posted_);
      end_communication();
    } else {
      break;
    }
  }
  TW_ASSERT(next_chain_, ==, computing_.size());
  TW_ASSERT(next_meeting_, ==, meeting_.size());
}

bool Interleaver::ready(int actor) const {
  return std::ranges::all_of(after_[actor], [this](int other) { return over_[other] != 0; });
}

// Ends what is complete, and begins what comes next, without waiting.
void Interleaver::communicate() {
  for (;;) {
    if (posted_) {
      if (!chains_[meeting_[next_meeting_]]->complete(*posted_)) return;
      end_communication();
    }
    if (next_meeting_ == meeting_.size() || !ready(meeting_[next_meeting_])) return;
    posted_ = chains_[meeting_[next_meeting_]]->post(0);
    if (!posted_) end_communication();
  }
}

void Interleaver::end_communication() {
  posted_ = nullptr;
  over_[meeting_[next_meeting_++]] = 1;
}

}  // namespace tw::runtime

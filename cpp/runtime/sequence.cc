#include "runtime/sequence.h"

#include <algorithm>

#include "base/error.h"
#include "runtime/steps.h"

namespace tw::runtime {

namespace {

// The bytes of a value in its segment.
struct Range {
  int segment;
  int64_t begin, end;
  bool meets(const Range& other) const {
    return segment == other.segment && begin < other.end && other.begin < end;
  }
};

std::vector<Range> ranges_of(const plan::Plan& plan, const std::vector<int>& values) {
  std::vector<Range> ranges;
  for (int value : values) {
    if (value < 0) continue;
    const plan::Value& v = plan.values[value];
    ranges.push_back({v.segment, v.offset_bytes, v.offset_bytes + plan::span_bytes(v)});
  }
  return ranges;
}

// Whether a communication reads or writes over what another one makes.
bool depends(const plan::Plan& plan, const plan::Launch& later, const plan::Launch& earlier) {
  const std::vector<Range> made = ranges_of(plan, earlier.outputs);
  for (const auto* values : {&later.inputs, &later.outputs})
    for (const Range& one : ranges_of(plan, *values))
      if (std::ranges::any_of(made, [&](const Range& range) { return range.meets(one); })) return true;
  return false;
}

}  // namespace

Sequence::Sequence(const plan::Plan& plan, const std::vector<std::unique_ptr<Chain>>& chains)
    : plan_(plan), chains_(chains), awaited_(plan.actors.size(), -1) {
  for (const plan::Actor& actor : plan.actors)
    TW_CHECK(
        (actor.kind == plan::ActorKind::kChain || actor.kind == plan::ActorKind::kComm) && actor.rate == 1,
        kInternal, "run: actor '", actor.name, "' cannot run on an accelerator");
  find_awaited();
}

// Registers of a step before are no matter: its last actor has waited for all. Between communications they
// keep an order, which posting keeps as well, so that one waits only for what it needs of another.
void Sequence::find_awaited() {
  std::vector<int> writer(plan_.registers.size());
  for (size_t a = 0; a < plan_.actors.size(); a++)
    for (int reg : plan_.actors[a].writes) writer[reg] = static_cast<int>(a);
  for (size_t a = 0; a < plan_.actors.size(); a++) {
    const plan::Actor& actor = plan_.actors[a];
    const bool comm = actor.kind == plan::ActorKind::kComm;
    for (int reg : actor.reads) {
      const int from = writer[reg];
      if (!comm && from < static_cast<int>(a) && plan_.actors[from].kind == plan::ActorKind::kComm)
        awaited_[a] = std::max(awaited_[a], from);
    }
    for (size_t b = 0; comm && b < a; b++)
      if (plan_.actors[b].kind == plan::ActorKind::kComm &&
          depends(plan_, actor.launches[0], plan_.actors[b].launches[0]))
        awaited_[a] = static_cast<int>(b);
  }
}

void Sequence::run(const StepBindings& step, Observer* observer) {
  try {
    for (at_ = 0; at_ < chains_.size(); at_++) queue(at_, step, observer);
    at_ = chains_.size() - 1;
  } catch (...) {
    give_up(reason_of(std::current_exception()));
    throw;
  }
}

void Sequence::queue(size_t actor, const StepBindings& step, Observer* observer) {
  if (awaited_[actor] >= 0) await(static_cast<size_t>(awaited_[actor]));
  Chain& chain = *chains_[actor];
  chain.bind(step);
  if (plan_.actors[actor].kind == plan::ActorKind::kComm) return post(actor, observer);
  if (observer)
    chain.fire_observed(0, *observer);
  else
    chain.fire(0);
}

void Sequence::post(size_t actor, Observer* observer) {
  if (!posted_.empty()) posted_.back().request->post_all();
  const int64_t begin_ns = observer ? now_ns() : 0;
  if (Ref<comm::Request> request = chains_[actor]->post(0)) posted_.push_back({actor, std::move(request)});
  if (!observer) return;
  observer->launched(static_cast<int>(actor), 0, 0, begin_ns, now_ns());
  observer->fired(static_cast<int>(actor), 0, begin_ns, now_ns());
}

// Those before it as well: the streams would come to them in another order than they were posted in.
void Sequence::await(size_t actor) {
  while (!posted_.empty() && posted_.front().actor <= actor) {
    Posted one = std::move(posted_.front());
    posted_.pop_front();
    chains_[one.actor]->follow(*one.request);
  }
}

void Sequence::give_up(const std::string& reason) {
  for (size_t a = 0; a < chains_.size(); a++)
    if (plan_.actors[a].kind == plan::ActorKind::kComm || chains_[a]->meets()) chains_[a]->give_up(reason);
  posted_.clear();
}

}  // namespace tw::runtime

// Ways to group the devices: all of them at once; the slices that are alike but for pending axes which stay;
// the slices that are alike but for the axes that change, where those are closed (nothing a slice wants lies
// in another). The last is a collective when all axes change alike. Each way is worked out and costed by the
// model.
#include "sbp/boxing.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "sbp/boxing_levels.h"
#include "sbp/boxing_pieces.h"

namespace tw::sbp {

namespace {

using Axes = std::vector<int64_t>;

struct Change {
  Axes axes;  // whose SBP changes
  Axes stay;  // the others, and those of one device
  bool closed = true;
  StepKind kind = StepKind::kExchange;  // the collective it is, or kExchange
};

bool is_split_of(const Sbp& sbp, int dim) { return sbp.kind == Kind::kSplit && sbp.dim == dim; }

// Axes nest: a changed axis moves what the axes inside it cut from the same dim.
bool moves_inner_cut(const Layout& from, const Layout& to, const Change& change) {
  for (int64_t stay : change.stay)
    for (int64_t axis : change.axes) {
      const Sbp& inner = from.sbp[stay];
      if (axis < stay && inner.kind == Kind::kSplit &&
          (is_split_of(from.sbp[axis], inner.dim) || is_split_of(to.sbp[axis], inner.dim)))
        return true;
    }
  return false;
}

// A pending axis may stay while outer ones are folded only if all are folded by one op.
bool may_stay_pending(const Layout& from, const Axes& changed, int64_t stay) {
  return std::ranges::all_of(changed, [&](int64_t axis) {
    const Sbp& outer = from.sbp[axis];
    return axis > stay || outer.kind != Kind::kPartial || outer.reduce == from.sbp[stay].reduce;
  });
}

StepKind collective_of(const Sbp& from, const Sbp& to) {
  if (from.kind == Kind::kPartial && to.kind == Kind::kBroadcast) return StepKind::kAllReduce;
  if (from.kind == Kind::kPartial && to.kind == Kind::kSplit) return StepKind::kReduceScatter;
  if (from.kind == Kind::kSplit && to.kind == Kind::kBroadcast) return StepKind::kAllGather;
  if (from.kind == Kind::kSplit && to.kind == Kind::kSplit) return StepKind::kAllToAll;
  return StepKind::kExchange;
}

std::optional<Change> change_of(const Layout& from, const Layout& to) {
  if (from.placement != to.placement) return std::nullopt;
  Change change;
  for (int64_t axis = 0; axis < from.placement->axes(); axis++) {
    bool stays = from.placement->shape[axis] == 1 || from.sbp[axis] == to.sbp[axis];
    (stays ? change.stay : change.axes).push_back(axis);
  }
  if (change.axes.empty()) return change;
  change.closed = !moves_inner_cut(from, to, change);
  for (int64_t axis : change.stay)
    if (from.sbp[axis].kind == Kind::kPartial && from.placement->shape[axis] > 1)
      change.closed = change.closed && may_stay_pending(from, change.axes, axis);
  if (!change.closed) return change;
  const Sbp& first = from.sbp[change.axes[0]];
  change.kind = collective_of(first, to.sbp[change.axes[0]]);
  for (int64_t axis : change.axes) {
    bool alike = collective_of(from.sbp[axis], to.sbp[axis]) == change.kind &&
                 (first.kind != Kind::kPartial || from.sbp[axis].reduce == first.reduce);
    if (!alike) change.kind = StepKind::kExchange;
  }
  return change;
}

// The pending axes that stay, as far as that is sound, for layouts where more than that changes.
Axes pending_that_stay(const Layout& from, const Layout& to) {
  Axes stay, changed;
  if (from.placement != to.placement) return stay;
  for (int64_t axis = 0; axis < from.placement->axes(); axis++) {
    bool stays = from.sbp[axis].kind == Kind::kPartial && from.sbp[axis] == to.sbp[axis] &&
                 may_stay_pending(from, changed, axis);
    (stays ? stay : changed).push_back(axis);
  }
  return stay;
}

std::vector<Piece> pieces_of(const BoxingPlan& plan, const LinkModel& model, const Axes& fixed, bool spread) {
  PieceMaker maker(plan, model, spread);
  if (fixed.empty()) {
    maker.add_slice({});
    return maker.take();
  }
  const Placement& placement = *plan.from->placement;
  for (int64_t position = 0; position < placement.count(); position++) {
    Dims at = placement.coordinates(position), slice(at.size(), -1);
    bool first = true;  // of its slice
    for (size_t axis = 0; axis < at.size(); axis++) {
      bool is_fixed = std::ranges::find(fixed, static_cast<int64_t>(axis)) != fixed.end();
      if (is_fixed) slice[axis] = at[axis];
      first = first && (is_fixed || at[axis] == 0);
    }
    if (first) maker.add_slice(slice);
  }
  return maker.take();
}

// What is sent in one phase, in which nothing waits for anything.
class Phase {
 public:
  std::vector<int64_t> sent;
  int64_t total = 0, far = 0;

  Phase(const LinkModel& model, const std::unordered_map<int64_t, size_t>& index)
      : sent(index.size()), model_(model), index_(index) {}

  void add(int64_t from, int64_t to, int64_t bytes) {
    if (from == to) return;
    messages_[{from, to}] += bytes;
    sent[index_.at(from)] += bytes;
    total += bytes;
    if (!model_.same_host(from, to)) far += bytes;
  }
  double seconds() const {
    std::vector<double> out(index_.size()), in(index_.size());
    for (const auto& [ends, bytes] : messages_) {
      bool near = model_.same_host(ends.first, ends.second);
      double rate = near ? model_.host_bytes_per_second : model_.network_bytes_per_second;
      double takes =
          (near ? model_.host_seconds : model_.network_seconds) + static_cast<double>(bytes) / rate;
      out[index_.at(ends.first)] += takes;
      in[index_.at(ends.second)] += takes;
    }
    double longest = 0;
    for (size_t i = 0; i < out.size(); i++) longest = std::max({longest, out[i], in[i]});
    return longest;
  }

 private:
  const LinkModel& model_;
  const std::unordered_map<int64_t, size_t>& index_;
  std::map<std::pair<int64_t, int64_t>, int64_t> messages_;
};

bool is_nothing(const BoxingPlan& plan, const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces)
    if (piece.sources.size() != 1 || piece.targets.size() != 1 || piece.targets[0] != piece.at) return false;
  for (int64_t position = 0; position < plan.to->placement->count(); position++) {
    int64_t before = plan.from->placement->position_of(plan.to->placement->ranks[position]);
    if (before < 0) return false;
    if (box_of(*plan.from, plan.sizes, before) != box_of(*plan.to, plan.sizes, position)) return false;
  }
  return plan.from->placement->type == plan.to->placement->type;
}

// An all-reduce that goes whole from everybody to everybody, if it is small enough.
double whole_seconds(const BoxingPlan& plan, const LinkModel& model,
                     const std::unordered_map<int64_t, size_t>& index) {
  Phase phase(model, index);
  const Placement& placement = *plan.from->placement;
  for (const std::vector<int64_t>& positions : groups_of(placement, plan.steps.front().axes)) {
    int64_t bytes = numel(box_of(*plan.from, plan.sizes, positions[0]).sizes) * plan.element_bytes;
    if (bytes > model.whole_bytes) return plan.seconds;
    for (int64_t from : positions)
      for (int64_t to : positions) phase.add(placement.ranks[from], placement.ranks[to], bytes);
  }
  return phase.seconds();
}

// The one step is a collective: whether it goes in two levels.
void choose_levels(BoxingPlan& plan, const LinkModel& model,
                   const std::unordered_map<int64_t, size_t>& index) {
  Step& step = plan.steps.front();
  if (step.far_bytes == 0) return;
  std::optional<LevelCost> two = two_level_cost(plan, step.kind, step.axes, model);
  if (!two) return;
  double one = step.kind == StepKind::kAllReduce ? whole_seconds(plan, model, index) : plan.seconds;
  plan.seconds = std::min(one, two->seconds);
  step.two_level = two->seconds < one;
  if (step.two_level) step.far_bytes = two->far_bytes;
}

// Works out the steps, the bytes and the time of a plan with these pieces. `change`: the collective it is.
void set_pieces(BoxingPlan& plan, const LinkModel& model, std::vector<Piece> pieces, const Change* change) {
  std::unordered_map<int64_t, size_t> index;
  for (size_t i = 0; i < plan.ranks.size(); i++) index[plan.ranks[i]] = i;
  Phase folding(model, index), passing_on(model, index);
  bool folds = std::ranges::any_of(pieces, [](const Piece& p) { return p.sources.size() > 1; });
  for (const Piece& piece : pieces) {
    int64_t bytes = numel(piece.box.sizes) * plan.element_bytes;
    for (int64_t rank : piece.sources) folding.add(rank, piece.at, bytes);
    if (piece.sources.empty()) continue;
    Phase& last = folds && piece.sources.size() == 1 ? folding : passing_on;
    for (int64_t rank : piece.targets) last.add(piece.at, rank, bytes);
  }
  plan.bytes = folding.total + passing_on.total;
  plan.seconds = folding.seconds() + passing_on.seconds();
  Axes axes = change ? change->axes : Axes();
  if (plan.bytes == 0) {
    StepKind kind = is_nothing(plan, pieces) ? StepKind::kNothing : StepKind::kLocal;
    plan.steps = {{kind, kind == StepKind::kLocal ? axes : Axes(), folding.sent, 0}};
  } else if (change && change->kind != StepKind::kExchange) {
    for (size_t i = 0; i < index.size(); i++) folding.sent[i] += passing_on.sent[i];
    plan.steps = {{change->kind, axes, folding.sent, plan.bytes, folding.far + passing_on.far}};
    choose_levels(plan, model, index);
  } else {
    if (folding.total > 0)
      plan.steps.push_back({StepKind::kReduce, {}, folding.sent, folding.total, folding.far});
    if (passing_on.total > 0)
      plan.steps.push_back({StepKind::kExchange, {}, passing_on.sent, passing_on.total, passing_on.far});
  }
  plan.pieces = std::move(pieces);
}

Ref<BoxingPlan> blank(const LayoutRef& from, const LayoutRef& to, const Dims& sizes, int64_t element_bytes) {
  auto plan = make_ref<BoxingPlan>();
  plan->from = from;
  plan->to = to;
  plan->sizes = sizes;
  plan->element_bytes = element_bytes;
  plan->ranks = from->placement->ranks;
  for (int64_t rank : to->placement->ranks)
    if (from->placement->position_of(rank) < 0) plan->ranks.push_back(rank);
  return plan;
}

Ref<BoxingPlan> cheapest(const LayoutRef& from, const LayoutRef& to, const Dims& sizes, int64_t element_bytes,
                         const LinkModel& model) {
  std::optional<Change> change = change_of(*from, *to);
  bool closed = change && change->closed;
  std::vector<Axes> groupings = {{}};
  if (Axes stay = pending_that_stay(*from, *to); !stay.empty()) groupings.push_back(stay);
  if (closed && !change->stay.empty() && change->stay != groupings.back()) groupings.push_back(change->stay);
  Ref<BoxingPlan> best, collective;
  for (const Axes& fixed : groupings)
    for (bool spread : {false, true}) {
      if (spread && !from->has_partial()) continue;
      Ref<BoxingPlan> plan = blank(from, to, sizes, element_bytes);
      bool is_collective = closed && fixed == change->stay;
      set_pieces(*plan, model, pieces_of(*plan, model, fixed, spread), is_collective ? &*change : nullptr);
      if (is_collective && change->kind != StepKind::kExchange &&
          (!collective || plan->seconds < collective->seconds))
        collective = plan;
      if (!best || std::pair(plan->bytes, plan->seconds) < std::pair(best->bytes, best->seconds)) best = plan;
    }
  if (collective && collective->seconds <= best->seconds * model.collective_advantage) return collective;
  return best;
}

struct Question {
  const Layout* from;  // layouts live as long as the process
  const Layout* to;
  Dims sizes;
  int64_t element_bytes;
  LinkModel model;
  friend bool operator==(const Question&, const Question&) = default;
};

struct QuestionHash {
  size_t operator()(const Question& q) const {
    size_t hash = 0;
    auto mix = [&](size_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15 + (hash >> 29); };
    mix(reinterpret_cast<size_t>(q.from));
    mix(reinterpret_cast<size_t>(q.to));
    for (int64_t size : q.sizes) mix(static_cast<size_t>(size));
    mix(static_cast<size_t>(q.element_bytes));
    return hash;
  }
};

// Two generations: what the young one lacks is taken over from the old one, which is dropped when the young
// one is full.
class PlanCache {
 public:
  BoxingPlanRef find(const Question& question) {
    std::lock_guard lock(mutex_);
    if (auto known = young_.find(question); known != young_.end()) return known->second;
    auto known = old_.find(question);
    return known == old_.end() ? nullptr : keep(question, known->second);
  }
  void add(const Question& question, const BoxingPlanRef& plan) {
    std::lock_guard lock(mutex_);
    keep(question, plan);
  }

 private:
  static constexpr size_t kGeneration = 2048;
  using Plans = std::unordered_map<Question, BoxingPlanRef, QuestionHash>;

  BoxingPlanRef keep(const Question& question, BoxingPlanRef plan) {
    if (young_.size() == kGeneration) old_ = std::exchange(young_, {});
    young_.insert_or_assign(question, plan);
    return plan;
  }
  std::mutex mutex_;
  Plans young_, old_;
};

}  // namespace

BoxingPlanRef plan_boxing(const LayoutRef& from, const LayoutRef& to, const Dims& sizes,
                          int64_t element_bytes, const LinkModel& model) {
  static auto* cache = new PlanCache;  // never destroyed: tensors may outlive every static object
  Question question{from.get(), to.get(), sizes, element_bytes, model};
  if (BoxingPlanRef known = cache->find(question)) return known;
  check_layout(*from, sizes, "boxing");
  check_layout(*to, sizes, "boxing");
  BoxingPlanRef plan = cheapest(from, to, sizes, element_bytes, model);
  cache->add(question, plan);
  return plan;
}

}  // namespace tw::sbp

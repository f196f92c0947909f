// 1. Every cell of the source meets every cell of the destination in a rectangle (add_meeting).
// 2. Its contributions are assigned to the groups of the destination (assign): without P there is one group;
// with
//    P, a group may take the whole value while the others get what is neutral, or, where all is folded by one
//    op, contributions may stay where they are. All replicas of a group get the same contributions in the
//    same order: replicas are equal bit for bit.
// 3. For each group, one contribution is copied (copy); several are folded and sent on (reduce).
#include "sbp/boxing_pieces.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace tw::sbp {

namespace {

bool contains(const Ranks& list, int64_t item) { return std::ranges::find(list, item) != list.end(); }

// The box in `count` parts, or fewer when it is small; slabs of the first dim that is long enough.
std::vector<Box> chunks(const Box& box, int64_t count) {
  if (count <= 1 || box.sizes.empty()) return {box};
  auto long_enough = std::ranges::find_if(box.sizes, [&](int64_t size) { return size >= count; });
  if (long_enough == box.sizes.end()) long_enough = std::ranges::max_element(box.sizes);
  size_t dim = long_enough - box.sizes.begin();
  int64_t parts = std::min(count, box.sizes[dim]);
  std::vector<Box> result(parts, box);
  for (int64_t i = 0; i < parts; i++) {
    Cut part = cut(split(0), box.sizes[dim], parts, i);
    result[i].first[dim] += part.first;
    result[i].sizes[dim] = part.size;
  }
  return result;
}

}  // namespace

void PieceMaker::add_slice(const Dims& coordinates) {
  coordinates_ = coordinates;
  Dims free(std::max(plan_.from->sbp.size(), plan_.to->sbp.size()), -1);
  const Dims& fixed = coordinates.empty() ? free : coordinates;
  from_ = cells_of(*plan_.from, plan_.sizes, fixed);
  to_ = cells_of(*plan_.to, plan_.sizes, fixed);
  const Sbp* any = nullptr;
  one_op_ = true;
  for (const NdSbp* sbps : {&plan_.from->sbp, &plan_.to->sbp})
    for (const Sbp& sbp : *sbps) {
      if (sbp.kind != Kind::kPartial) continue;
      if (!any) any = &sbp;
      one_op_ = one_op_ && sbp.reduce == any->reduce;
    }
  meeting_ = 0;
  for (size_t f = 0; f < from_.cells.size(); f++)
    for (size_t t = 0; t < to_.cells.size(); t++) {
      Box box = intersection(from_.cells[f].box, to_.cells[t].box);
      if (!is_empty(box)) add_meeting(static_cast<int64_t>(f), static_cast<int64_t>(t), box);
    }
}

void PieceMaker::add_meeting(int64_t from_cell, int64_t to_cell, const Box& box) {
  from_cell_ = from_cell;
  holders_ = &from_.cells[from_cell].groups;
  wanting_ = &to_.cells[to_cell].groups;
  Assignment assignment = assign();
  std::vector<Ranks> contributions(wanting_->size());
  for (size_t i = 0; i < assignment.size(); i++) contributions[assignment[i]].push_back(i);
  for (size_t group = 0; group < wanting_->size(); group++) {
    const Ranks& wanted = (*wanting_)[group];
    if (contributions[group].empty())
      pieces_.push_back({box, {}, wanted, 0, {}, neutral_of(group, assignment[0])});
    else if (contributions[group].size() == 1)
      copy(box, contributions[group][0], wanted);
    else
      reduce(box, contributions[group], wanted);
  }
  meeting_++;
}

int64_t PieceMaker::own(int64_t rank) const {
  auto known = from_.held.find(rank);
  return known != from_.held.end() && known->second.cell == from_cell_ ? known->second.group : -1;
}

bool PieceMaker::owns(int64_t rank, const Ranks& contributions) const {
  return contains(contributions, own(rank));
}

// Ties are broken by what is alike in all slices, never by load: replicas must get the same. What costs
// nothing goes to the first, other meetings take turns.
int64_t PieceMaker::first_of_least(const std::vector<int64_t>& costs, int64_t start) const {
  int64_t count = static_cast<int64_t>(costs.size());
  int64_t least = *std::ranges::min_element(costs);
  int64_t at = least == 0 ? 0 : start % count;
  while (costs[at] != least) at = (at + 1) % count;
  return at;
}

// Each contribution to the group that needs the fewest copies of it.
PieceMaker::Assignment PieceMaker::assign_each() const {
  Assignment result(holders_->size());
  std::vector<int64_t> costs(wanting_->size());
  for (size_t i = 0; i < result.size(); i++) {
    for (size_t group = 0; group < costs.size(); group++) {
      costs[group] = 0;
      for (int64_t rank : (*wanting_)[group]) costs[group] += own(rank) != static_cast<int64_t>(i);
    }
    result[i] = first_of_least(costs, meeting_ + static_cast<int64_t>(i));
  }
  return result;
}

PieceMaker::Assignment PieceMaker::assign() const {
  if (wanting_->size() == 1) return Assignment(holders_->size(), 0);
  std::vector<int64_t> costs;
  for (size_t group = 0; group < wanting_->size(); group++)
    costs.push_back(cost_of(Assignment(holders_->size(), static_cast<int64_t>(group))));
  int64_t chosen = first_of_least(costs, meeting_);
  if (one_op_ && holders_->size() > 1)
    if (Assignment each = assign_each(); cost_of(each) <= costs[chosen]) return each;
  return Assignment(holders_->size(), chosen);
}

int64_t PieceMaker::cost_of(const Assignment& assignment) const {
  std::vector<int64_t> given(wanting_->size()), owners(wanting_->size());
  for (int64_t group : assignment) given[group]++;
  int64_t cost = 0;
  for (size_t group = 0; group < wanting_->size(); group++) {
    int64_t wanted = static_cast<int64_t>((*wanting_)[group].size());
    for (int64_t rank : (*wanting_)[group])
      if (int64_t i = own(rank); i >= 0 && assignment[i] == static_cast<int64_t>(group)) owners[group]++;
    if (given[group] == 1) cost += wanted - owners[group];
    if (given[group] > 1) cost += wanted + given[group] - 1 - (owners[group] > 0);
  }
  return cost;
}

// What is pending may nest: a sum of maxima. All that differs from the chosen group on an outer axis must
// fold to what is neutral there, of which the first on the inner axes is enough; the others are neutral
// further in.
ReduceOp PieceMaker::neutral_of(int64_t group, int64_t chosen) const {
  for (int64_t axis = plan_.to->placement->axes() - 1, next = to_.pending.size() - 1; axis >= 0; axis--) {
    const Sbp& sbp = plan_.to->sbp[axis];
    if (sbp.kind != Kind::kPartial) continue;
    if (next < 0 || to_.pending_axes[next] != axis) {
      if (coordinates_[axis] != 0) return sbp.reduce;
      continue;
    }
    int64_t count = to_.pending[next--].count;
    if (group % count != chosen % count) return sbp.reduce;
    group /= count;
    chosen /= count;
  }
  TW_FAIL(kInternal, "boxing: a group that takes nothing is the one that takes all");
}

int64_t PieceMaker::sender_to(int64_t rank, const Ranks& holders, int64_t elements) {
  if (contains(holders, rank)) return rank;
  auto worse = [&](int64_t a, int64_t b) {
    bool a_near = model_.same_host(a, rank), b_near = model_.same_host(b, rank);
    return a_near != b_near ? a_near : sent_[a] < sent_[b];
  };
  int64_t sender = *std::ranges::min_element(holders, worse);
  sent_[sender] += elements;
  return sender;
}

void PieceMaker::copy(const Box& box, int64_t contribution, const Ranks& wanted) {
  size_t first = pieces_.size();
  for (int64_t rank : wanted) {
    int64_t sender = sender_to(rank, (*holders_)[contribution], numel(box.sizes));
    auto known =
        std::find_if(pieces_.begin() + first, pieces_.end(), [&](Piece& p) { return p.at == sender; });
    if (known == pieces_.end())
      pieces_.push_back({box, {sender}, {rank}, sender, {}, ReduceOp::kSum});
    else
      known->targets.push_back(rank);
  }
}

Piece PieceMaker::folded_at(const Box& box, const Ranks& contributions, int64_t at) {
  Piece piece{box, {}, {}, at, from_.pending, ReduceOp::kSum};
  bool nested =
      std::ranges::any_of(from_.pending, [&](const Fold& f) { return f.op != from_.pending[0].op; });
  if (!nested) piece.folds = {{from_.pending[0].op, static_cast<int64_t>(contributions.size())}};
  for (int64_t i : contributions) piece.sources.push_back(sender_to(at, (*holders_)[i], numel(box.sizes)));
  return piece;
}

// Two contributions: whoever holds one lacks one, and folding beats waiting for the result.
void PieceMaker::reduce_at_owners(const Box& box, const Ranks& contributions, const Ranks& owners,
                                  const Ranks& wanted) {
  size_t first = pieces_.size();
  for (int64_t rank : owners) {
    pieces_.push_back(folded_at(box, contributions, rank));
    pieces_.back().targets.push_back(rank);
  }
  for (int64_t rank : wanted) {
    if (contains(owners, rank)) continue;
    int64_t sender = sender_to(rank, owners, numel(box.sizes));
    std::find_if(pieces_.begin() + first, pieces_.end(), [&](Piece& p) {
      return p.at == sender;
    })->targets.push_back(rank);
  }
}

void PieceMaker::reduce(const Box& box, const Ranks& contributions, const Ranks& wanted) {
  Ranks at;
  for (int64_t rank : wanted)
    if (owns(rank, contributions)) at.push_back(rank);
  if (!at.empty() && contributions.size() == 2) return reduce_at_owners(box, contributions, at, wanted);
  if (at.empty()) {
    at = wanted;
    for (int64_t i : contributions)
      for (int64_t rank : (*holders_)[i])
        if (spread_ && !contains(at, rank)) at.push_back(rank);
  }
  std::vector<Box> parts = chunks(box, static_cast<int64_t>(at.size()));
  std::stable_sort(at.begin(), at.end(), [&](int64_t a, int64_t b) { return sent_[a] < sent_[b]; });
  for (size_t i = 0; i < parts.size(); i++) {
    Piece piece = folded_at(parts[i], contributions, at[i]);
    piece.targets = wanted;
    sent_[at[i]] += numel(parts[i].sizes) * (wanted.size() - contains(wanted, at[i]));
    pieces_.push_back(std::move(piece));
  }
}

}  // namespace tw::sbp

// Who sends which rectangle to whom, for one way of grouping the devices.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sbp/boxing.h"
#include "sbp/boxing_cells.h"

namespace tw::sbp {

class PieceMaker {
 public:
  // `spread`: devices that do not want a folded rectangle may fold a share of it.
  PieceMaker(const BoxingPlan& plan, const LinkModel& model, bool spread)
      : plan_(plan), model_(model), spread_(spread) {}

  // Adds what the slice of devices with these coordinates takes (-1: the axis is not fixed). Axes that are
  // fixed are axes of both layouts, which have one placement.
  void add_slice(const Dims& coordinates);
  std::vector<Piece> take() { return std::move(pieces_); }

 private:
  // Which contribution goes to which group of the destination.
  using Assignment = std::vector<int64_t>;

  void add_meeting(int64_t from_cell, int64_t to_cell, const Box& box);
  Assignment assign() const;
  Assignment assign_each() const;
  int64_t first_of_least(const std::vector<int64_t>& costs, int64_t start) const;
  int64_t cost_of(const Assignment& assignment) const;
  // The contribution to this meeting that the rank holds, or -1.
  int64_t own(int64_t rank) const;
  bool owns(int64_t rank, const Ranks& contributions) const;
  ReduceOp neutral_of(int64_t group, int64_t chosen) const;

  void copy(const Box& box, int64_t contribution, const Ranks& wanted);
  void reduce(const Box& box, const Ranks& contributions, const Ranks& wanted);
  void reduce_at_owners(const Box& box, const Ranks& contributions, const Ranks& owners, const Ranks& wanted);
  Piece folded_at(const Box& box, const Ranks& contributions, int64_t at);
  int64_t sender_to(int64_t rank, const Ranks& holders, int64_t elements);

  const BoxingPlan& plan_;
  const LinkModel& model_;
  bool spread_;
  std::vector<Piece> pieces_;
  std::unordered_map<int64_t, int64_t> sent_;  // elements, by rank: what balances the senders

  // The slice, and the meeting of two cells in it, that is being worked on.
  Dims coordinates_;
  Cells from_, to_;
  bool one_op_ = true;  // all that is pending on either side is folded by one op
  const std::vector<Ranks>* holders_ = nullptr;
  const std::vector<Ranks>* wanting_ = nullptr;
  int64_t from_cell_ = 0, meeting_ = 0;
};

}  // namespace tw::sbp

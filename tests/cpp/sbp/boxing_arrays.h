// Arrays that lie as layouts say, and plans run on them element by element: the reference for boxing.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "base/error.h"
#include "sbp/boxing.h"
#include "test.h"

namespace tw::sbp {

// The values of one device's box, row-major.
struct Part {
  Box box;
  std::vector<int32_t> values;
};
using Parts = std::map<int64_t, Part>;  // by rank

inline int64_t elements(const Box& box) { return numel(box.sizes); }

// Calls body(index in the whole) for each element of the box, row-major.
template <class Body>
void each_index(const Box& box, Body body) {
  if (elements(box) == 0) return;
  Dims at = box.first;
  while (true) {
    body(at);
    int dim = static_cast<int>(at.size()) - 1;
    for (; dim >= 0; dim--) {
      if (++at[dim] < box.first[dim] + box.sizes[dim]) break;
      at[dim] = box.first[dim];
    }
    if (dim < 0) return;
  }
}

inline int64_t offset_in(const Box& box, const Dims& at) {
  int64_t offset = 0;
  for (size_t dim = 0; dim < at.size(); dim++) {
    if (at[dim] < box.first[dim] || at[dim] >= box.first[dim] + box.sizes[dim]) return -1;
    offset = offset * box.sizes[dim] + at[dim] - box.first[dim];
  }
  return offset;
}

inline int32_t neutral(ReduceOp op) {
  using Limits = std::numeric_limits<int32_t>;
  return op == ReduceOp::kSum ? 0 : op == ReduceOp::kMax ? Limits::min() : Limits::max();
}

// Sums wrap: what is neutral for max is not neutral for max once it is added to itself.
inline int32_t fold(ReduceOp op, int32_t a, int32_t b) {
  if (op == ReduceOp::kSum) return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
  return op == ReduceOp::kMax ? std::max(a, b) : std::min(a, b);
}

// The P axes of a layout as nested folds, outermost first, and the row-major index of a position in them.
struct Pending {
  std::vector<Fold> folds;
  std::vector<int64_t> axes;
  int64_t count = 1;

  explicit Pending(const Layout& layout) {
    for (int64_t axis = 0; axis < layout.placement->axes(); axis++)
      if (layout.sbp[axis].kind == Kind::kPartial) {
        folds.push_back({layout.sbp[axis].reduce, layout.placement->shape[axis]});
        axes.push_back(axis);
        count *= folds.back().count;
      }
  }
  int64_t index_of(const Layout& layout, int64_t position) const {
    Dims at = layout.placement->coordinates(position);
    int64_t index = 0;
    for (size_t i = 0; i < axes.size(); i++) index = index * folds[i].count + at[axes[i]];
    return index;
  }
};

template <class Folds>
int32_t fold_all(const Folds& folds, size_t level, const int32_t* values, int64_t count) {
  if (level == folds.size()) return values[0];
  int64_t inner = count / folds[level].count;
  int32_t result = fold_all(folds, level + 1, values, inner);
  for (int64_t i = 1; i < folds[level].count; i++)
    result = fold(folds[level].op, result, fold_all(folds, level + 1, values + i * inner, inner));
  return result;
}

// Contributions that fold to `value`.
inline void unfold(const std::vector<Fold>& folds, size_t level, int32_t value, int32_t* out, int64_t count,
                   std::mt19937& random) {
  if (level == folds.size()) {
    out[0] = value;
    return;
  }
  const Fold& f = folds[level];
  int64_t inner = count / f.count, chosen = random() % f.count;
  int32_t rest = value;
  std::vector<int32_t> shares(f.count);
  for (int64_t i = 0; i < f.count; i++) {
    int32_t away = static_cast<int32_t>(random() % 9);
    if (f.op == ReduceOp::kSum) shares[i] = away - 4;
    if (f.op == ReduceOp::kMax) shares[i] = value - away;
    if (f.op == ReduceOp::kMin) shares[i] = value + away;
    if (i != chosen) rest -= shares[i];
  }
  shares[chosen] = f.op == ReduceOp::kSum ? rest : value;
  for (int64_t i = 0; i < f.count; i++) unfold(folds, level + 1, shares[i], out + i * inner, inner, random);
}

// The whole has the values 1, 2, 3, ...; every device gets its part.
inline Parts spread_out(const Layout& layout, const Dims& sizes, std::mt19937& random) {
  Pending pending(layout);
  Box whole{Dims(sizes.size()), sizes};
  std::vector<int32_t> contributions(elements(whole) * pending.count);
  for (int64_t i = 0; i < elements(whole); i++)
    unfold(pending.folds, 0, static_cast<int32_t>(i + 1), &contributions[i * pending.count], pending.count,
           random);
  Parts parts;
  for (int64_t position = 0; position < layout.placement->count(); position++) {
    Part part{box_of(layout, sizes, position), {}};
    each_index(part.box, [&](const Dims& at) {
      part.values.push_back(
          contributions[offset_in(whole, at) * pending.count + pending.index_of(layout, position)]);
    });
    parts[layout.placement->ranks[position]] = std::move(part);
  }
  return parts;
}

// Fails unless the parts fold to 1, 2, 3, ... and replicas are equal.
inline void check_parts(const Layout& layout, const Dims& sizes, const Parts& parts) {
  Pending pending(layout);
  Box whole{Dims(sizes.size()), sizes};
  constexpr int32_t kUnset = -12345;
  std::vector<int32_t> contributions(elements(whole) * pending.count, kUnset);
  for (int64_t position = 0; position < layout.placement->count(); position++) {
    const Part& part = parts.at(layout.placement->ranks[position]);
    CHECK(part.box == box_of(layout, sizes, position));
    int64_t next = 0;
    each_index(part.box, [&](const Dims& at) {
      int32_t& known =
          contributions[offset_in(whole, at) * pending.count + pending.index_of(layout, position)];
      if (known == kUnset) known = part.values[next];
      CHECK_EQ(known, part.values[next]);
      next++;
    });
  }
  for (int64_t i = 0; i < elements(whole); i++)
    CHECK_EQ(fold_all(pending.folds, 0, &contributions[i * pending.count], pending.count), i + 1);
}

// What the devices hold after the plan. Fails when a piece takes what its source does not hold, or an element
// is written twice or never. Adds up what is sent to *bytes_sent.
inline Parts run_plan(const BoxingPlan& plan, const Parts& before, int64_t* bytes_sent) {
  Parts after;
  std::map<int64_t, std::vector<int>> written;
  for (int64_t position = 0; position < plan.to->placement->count(); position++) {
    Box box = box_of(*plan.to, plan.sizes, position);
    int64_t rank = plan.to->placement->ranks[position], count = elements(box);
    after[rank] = {std::move(box), std::vector<int32_t>(count)};
    written[rank].resize(count);
  }
  for (const Piece& piece : plan.pieces) {
    int64_t bytes = elements(piece.box) * plan.element_bytes;
    for (int64_t source : piece.sources) *bytes_sent += source == piece.at ? 0 : bytes;
    if (!piece.sources.empty())
      for (int64_t target : piece.targets) *bytes_sent += target == piece.at ? 0 : bytes;
    each_index(piece.box, [&](const Dims& at) {
      std::vector<int32_t> values;
      for (int64_t source : piece.sources) {
        int64_t offset = offset_in(before.at(source).box, at);
        CHECK_GE(offset, 0);
        values.push_back(before.at(source).values[offset]);
      }
      int32_t value = values.empty()       ? neutral(piece.fill)
                      : values.size() == 1 ? values[0]
                                           : fold_all(piece.folds, 0, values.data(), values.size());
      for (int64_t target : piece.targets) {
        int64_t offset = offset_in(after.at(target).box, at);
        CHECK_GE(offset, 0);
        after.at(target).values[offset] = value;
        written.at(target)[offset]++;
      }
    });
  }
  for (const auto& [rank, counts] : written)
    for (int count : counts) CHECK_EQ(count, 1);
  return after;
}

// Elements that the devices of `to` are to hold and do not hold yet.
inline int64_t lacking(const Layout& from, const Layout& to, const Dims& sizes) {
  int64_t count = 0;
  for (int64_t position = 0; position < to.placement->count(); position++) {
    int64_t before = from.placement->position_of(to.placement->ranks[position]);
    Box wanted = box_of(to, sizes, position);
    if (before < 0) {
      count += elements(wanted);
      continue;
    }
    Box held = box_of(from, sizes, before);
    each_index(wanted, [&](const Dims& at) { count += offset_in(held, at) < 0; });
  }
  return count;
}

// Plans, checks the byte counts against one another and, where nothing is pending, against what is lacking,
// runs the plan and checks the result.
inline BoxingPlanRef check_boxing(const LayoutRef& from, const LayoutRef& to, const Dims& sizes,
                                  std::mt19937& random) {
  BoxingPlanRef plan = plan_boxing(from, to, sizes, 4);
  try {
    int64_t bytes = 0, sent = 0, steps = 0;
    check_parts(*to, sizes, run_plan(*plan, spread_out(*from, sizes, random), &bytes));
    CHECK_EQ(plan->bytes, bytes);
    CHECK(!plan->steps.empty());
    for (const Step& step : plan->steps) {
      steps += step.bytes;
      CHECK_EQ(step.sent.size(), plan->ranks.size());
      for (int64_t bytes_of_rank : step.sent) sent += bytes_of_rank;
    }
    CHECK_EQ(steps, bytes);
    CHECK_EQ(sent, bytes);
    if (!from->has_partial() && !to->has_partial()) CHECK_EQ(bytes, 4 * lacking(*from, *to, sizes));
    if (plan->is_nothing()) CHECK_EQ(bytes, 0);
  } catch (const test::Failure& failure) {
    throw test::Failure(std::string(failure.what()) + "\n" + explain(*plan));
  }
  return plan;
}

}  // namespace tw::sbp

#include "sbp/placement.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include "base/error.h"

namespace tw::sbp {

namespace {

void append_ranks(std::string& out, const Placement& placement, int64_t axis, int64_t& next) {
  out += '[';
  for (int64_t i = 0; i < placement.shape[axis]; i++) {
    if (i > 0) out += ", ";
    if (axis + 1 < placement.axes())
      append_ranks(out, placement, axis + 1, next);
    else
      out += std::to_string(placement.ranks[next++]);
  }
  out += ']';
}

void check(std::string_view type, const Dims& shape, const std::vector<int64_t>& ranks) {
  TW_CHECK(!shape.empty() && !ranks.empty(), kPlacement,
           "placement: at least one rank is wanted, got an array of shape ", shape);
  TW_CHECK(!type.empty(), kPlacement, "placement: a device type is wanted, such as \"cpu\"");
  TW_CHECK(numel(shape) == static_cast<int64_t>(ranks.size()), kPlacement, "placement: an array of shape ",
           shape, " has ", numel(shape), " ranks, got ", ranks.size());
  std::vector<int64_t> sorted = ranks;
  std::ranges::sort(sorted);
  TW_CHECK(sorted.front() >= 0, kPlacement, "placement: ranks count from 0, got ", sorted.front());
  auto twice = std::ranges::adjacent_find(sorted);
  TW_CHECK(twice == sorted.end(), kPlacement, "placement: every rank may stand once, got ", *twice,
           " twice in ", ranks);
}

}  // namespace

Dims Placement::coordinates(int64_t position) const {
  Dims result(shape.size());
  for (int64_t axis = axes() - 1; axis >= 0; axis--) {
    result[axis] = position % shape[axis];
    position /= shape[axis];
  }
  return result;
}

int64_t Placement::position_at(const Dims& coordinates) const {
  int64_t position = 0;
  for (int64_t axis = 0; axis < axes(); axis++) position = position * shape[axis] + coordinates[axis];
  return position;
}

int64_t Placement::position_of(int64_t rank) const {
  auto at = std::ranges::find(ranks, rank);
  return at == ranks.end() ? -1 : at - ranks.begin();
}

std::vector<int64_t> Placement::along(int64_t axis, int64_t position) const {
  Dims at = coordinates(position);
  std::vector<int64_t> result;
  for (at[axis] = 0; at[axis] < shape[axis]; at[axis]++) result.push_back(position_at(at));
  return result;
}

PlacementRef placement(std::string_view type, const Dims& shape, const std::vector<int64_t>& ranks) {
  using Key = std::tuple<std::string, std::vector<int64_t>, std::vector<int64_t>>;
  static auto* mutex = new std::mutex;  // never destroyed: tensors may outlive every static object
  static auto* all = new std::map<Key, PlacementRef>;
  check(type, shape, ranks);
  std::lock_guard lock(*mutex);
  PlacementRef& known = (*all)[Key(type, std::vector<int64_t>(shape.begin(), shape.end()), ranks)];
  if (!known) {
    auto made = make_ref<Placement>();
    made->type = type;
    made->shape = shape;
    made->ranks = ranks;
    known = std::move(made);
  }
  return known;
}

std::string name_of(const Placement& placement) {
  std::string out = placement.type;
  int64_t next = 0;
  append_ranks(out, placement, 0, next);
  return out;
}

}  // namespace tw::sbp

#include "sbp/boxing_cells.h"

#include <algorithm>
#include <map>

namespace tw::sbp {

int64_t Cells::groups() const {
  int64_t count = 1;
  for (const Fold& fold : pending) count *= fold.count;
  return count;
}

Cells cells_of(const Layout& layout, const Dims& sizes, const Dims& coordinates) {
  const Placement& placement = *layout.placement;
  Cells result;
  for (int64_t axis = 0; axis < placement.axes(); axis++) {
    if (layout.sbp[axis].kind != Kind::kPartial || coordinates[axis] >= 0) continue;
    result.pending.push_back({layout.sbp[axis].reduce, placement.shape[axis]});
    result.pending_axes.push_back(axis);
  }
  int64_t groups = result.groups();
  std::map<int64_t, int64_t> cell_at;  // coordinates of the split axes, as one number
  for (int64_t position = 0; position < placement.count(); position++) {
    Dims at = placement.coordinates(position);
    int64_t group = 0, split = 0;
    bool inside = true;
    for (int64_t axis = 0; axis < placement.axes(); axis++) {
      bool fixed = coordinates[axis] >= 0;
      inside = inside && (!fixed || coordinates[axis] == at[axis]);
      Kind kind = layout.sbp[axis].kind;
      if (kind == Kind::kPartial && !fixed) group = group * placement.shape[axis] + at[axis];
      split = split * placement.shape[axis] + (kind == Kind::kSplit ? at[axis] : 0);
    }
    if (!inside) continue;
    auto [known, is_new] = cell_at.try_emplace(split, static_cast<int64_t>(result.cells.size()));
    if (is_new) {
      Box box = box_of(layout, sizes, position);
      if (is_empty(box))
        known->second = -1;
      else
        result.cells.push_back({std::move(box), std::vector<Ranks>(groups)});
    }
    if (known->second < 0) continue;
    int64_t rank = placement.ranks[position];
    result.cells[known->second].groups[group].push_back(rank);
    result.held[rank] = {known->second, group};
  }
  return result;
}

Box intersection(const Box& a, const Box& b) {
  Box both = a;
  for (size_t dim = 0; dim < a.first.size(); dim++) {
    int64_t end = std::min(a.first[dim] + a.sizes[dim], b.first[dim] + b.sizes[dim]);
    both.first[dim] = std::max(a.first[dim], b.first[dim]);
    both.sizes[dim] = std::max<int64_t>(end - both.first[dim], 0);
  }
  return both;
}

}  // namespace tw::sbp

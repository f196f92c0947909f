#include "sbp/boxing_levels.h"

#include <algorithm>
#include <map>

namespace tw::sbp {

namespace {

// The bytes that a group shares: what is reduced, or the parts of all.
int64_t bytes_of(const BoxingPlan& plan, StepKind kind, const std::vector<int64_t>& positions) {
  const Layout& cut = kind == StepKind::kReduceScatter ? *plan.to : *plan.from;
  int64_t elements = 0;
  for (int64_t position : positions) {
    elements += numel(box_of(cut, plan.sizes, position).sizes);
    if (kind == StepKind::kAllReduce) break;
  }
  return elements * plan.element_bytes;
}

LevelCost cost_of(StepKind kind, int64_t bytes, const std::map<int, int64_t>& devices,
                  const LinkModel& model) {
  auto [least, most] = std::ranges::minmax_element(devices, {}, [](const auto& host) { return host.second; });
  double hosts = static_cast<double>(devices.size()), lanes = static_cast<double>(least->second);
  double here = static_cast<double>(most->second), total = static_cast<double>(bytes);
  // A device sends its lane's share to each other machine, and hands on what it got to its neighbours.
  double share = total / (hosts * lanes);
  double far = (hosts - 1) * (model.network_seconds + share / model.network_bytes_per_second);
  double near = (here - 1) * (model.host_seconds + hosts * share / model.host_bytes_per_second);
  double ways = kind == StepKind::kAllReduce ? 2 : 1;
  return {ways * (far + near),
          static_cast<int64_t>(ways) * (static_cast<int64_t>(devices.size()) - 1) * bytes};
}

}  // namespace

std::vector<std::vector<int64_t>> groups_of(const Placement& placement, const std::vector<int64_t>& axes) {
  std::map<int64_t, std::vector<int64_t>> groups;  // by their first positions
  for (int64_t position = 0; position < placement.count(); position++) {
    Dims at = placement.coordinates(position);
    for (int64_t axis : axes) at[axis] = 0;
    groups[placement.position_at(at)].push_back(position);
  }
  std::vector<std::vector<int64_t>> result;
  for (auto& [first, positions] : groups) result.push_back(std::move(positions));
  return result;
}

std::optional<LevelCost> two_level_cost(const BoxingPlan& plan, StepKind kind,
                                        const std::vector<int64_t>& axes, const LinkModel& model) {
  if (kind != StepKind::kAllReduce && kind != StepKind::kAllGather && kind != StepKind::kReduceScatter)
    return std::nullopt;
  LevelCost total;
  bool gains = false;
  for (const std::vector<int64_t>& positions : groups_of(*plan.from->placement, axes)) {
    std::map<int, int64_t> devices;  // of each machine
    for (int64_t position : positions) devices[model.host_of(plan.from->placement->ranks[position])]++;
    gains = gains || (devices.size() > 1 && devices.size() < positions.size());
    LevelCost cost = cost_of(kind, bytes_of(plan, kind, positions), devices, model);
    total.seconds = std::max(total.seconds, cost.seconds);
    total.far_bytes += cost.far_bytes;
  }
  return gains ? std::optional(total) : std::nullopt;
}

}  // namespace tw::sbp

// Steps that are collectives of groups along axes, through comm's calls. All-to-all goes by messages.
#include "base/error.h"
#include "boxing/program_builder.h"
#include "sbp/boxing_levels.h"

namespace tw::boxing {

namespace {

bool call_kind_of(sbp::StepKind step, comm::CallKind* kind) {
  switch (step) {
    case sbp::StepKind::kAllReduce:
      *kind = comm::CallKind::kAllReduce;
      return true;
    case sbp::StepKind::kReduceScatter:
      *kind = comm::CallKind::kReduceScatter;
      return true;
    case sbp::StepKind::kAllGather:
      *kind = comm::CallKind::kAllGather;
      return true;
    default:
      return false;
  }
}

}  // namespace

bool ProgramBuilder::add_collective() {
  const sbp::Step& step = plan_->steps.front();
  comm::CallKind kind;
  if (!call_kind_of(step.kind, &kind)) return false;
  // Their libraries have no arithmetic on int16: it is exchanged, and folded where it comes together.
  if (program_->type != device::DeviceType::kCpu && program_->dtype == DType::kInt16 &&
      kind != comm::CallKind::kAllGather)
    return false;
  const sbp::Placement& placement = *plan_->from->placement;
  // On devices with a library for them collectives are its own, in one process too.
  bool crosses = apart_ || program_->type != device::DeviceType::kCpu;
  for (int64_t rank : placement.ranks)
    crosses = crosses || process_of(rank) != process_of(placement.ranks[0]);
  if (!crosses) return false;
  for (const std::vector<int64_t>& positions : sbp::groups_of(placement, step.axes)) {
    bool any = false;
    for (int64_t position : positions) any = any || mine(placement.ranks[position]);
    if (any) add_group(positions, kind);
  }
  return true;
}

void ProgramBuilder::add_group(const std::vector<int64_t>& positions, comm::CallKind kind) {
  std::vector<int> ranks;
  std::vector<sbp::Box> boxes;  // of the parts that members have of what all of them share
  PostedCall call;
  for (int64_t position : positions) {
    ranks.push_back(static_cast<int>(plan_->from->placement->ranks[position]));
    const sbp::Layout& cut = kind == comm::CallKind::kReduceScatter ? *plan_->to : *plan_->from;
    boxes.push_back(box_of(cut, plan_->sizes, position));
    call.counts.push_back(numel(boxes.back().sizes));
    call.count += call.counts.back();
  }
  if (kind == comm::CallKind::kAllReduce) {
    call.count = call.counts[0];
    call.counts.clear();
  }
  if (call.count == 0) return;
  call.kind = kind;
  call.levels = plan_->steps.front().two_level ? comm::Levels::kTwo : comm::Levels::kOne;
  call.group = comm::Group::of(ranks, caller_, program_->type);
  if (kind != comm::CallKind::kAllGather)
    for (int64_t axis : plan_->steps.front().axes)
      call.reduction = reduction_of(plan_->from->sbp[axis].reduce);
  for (int member : call.group->members()) {
    const Holding &from = inputs_.at(ranks[member]), &to = outputs_.at(ranks[member]);
    call.inputs.push_back(kind == comm::CallKind::kReduceScatter ? joined(from, boxes, ranks[member], false)
                                                                 : from.slot);
    call.outputs.push_back(kind == comm::CallKind::kAllGather ? joined(to, boxes, ranks[member], true)
                                                              : to.slot);
  }
  phase(0).calls.push_back(std::move(call));
  phase(1);
}

int ProgramBuilder::joined(const Holding& part, const std::vector<sbp::Box>& boxes, int64_t rank,
                           bool out_of) {
  int64_t count = 0;
  bool in_place = true;
  for (const sbp::Box& box : boxes) {
    if (numel(box.sizes) == 0) continue;
    View view = view_in(part, box);
    in_place = in_place && view.dense && view.offset == count;
    count += numel(box.sizes);
  }
  if (in_place) return part.slot;
  int slot = add_scratch(count, rank);
  int64_t offset = 0;
  for (const sbp::Box& box : boxes) {
    View inside = view_in(part, box), packed{slot, offset, contiguous_strides(box.sizes), true};
    offset += numel(box.sizes);
    if (numel(box.sizes) == 0) continue;
    if (out_of)
      copy(1, inside, packed, box.sizes);
    else
      copy(0, packed, inside, box.sizes);
  }
  return slot;
}

}  // namespace tw::boxing

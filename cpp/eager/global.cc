#include "eager/global.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "comm/world.h"
#include "eager/global_boxing.h"
#include "eager/modes.h"
#include "eager/node.h"
#include "eager/placing.h"
#include "eager/tracer.h"

namespace tw::eager {

std::atomic<bool> g_globals_exist = false;

const Addressable& addressable(const sbp::Placement& placement) {
  // Placements live as long as the process, and worlds are few: entries are never dropped.
  thread_local std::unordered_map<const sbp::Placement*, Addressable> known;
  Addressable& found = known[&placement];
  if (found.version == comm::world_version()) return found;
  found = {};
  found.version = comm::world_version();
  const comm::World& world = comm::world();
  for (int64_t position = 0; position < placement.count(); position++) {
    int rank = static_cast<int>(placement.ranks[position]);
    TW_CHECK(world.is_valid(rank), kPlacement, "placement: ", placement, " names rank ", rank,
             ", but there are ", world.size(),
             " ranks; tw.env.init(devices_per_process=...) makes several in one process");
    if (!world.addressable(rank)) continue;
    found.positions.push_back(position);
    found.devices.push_back(world.device_of(rank, device_type_of(placement)));
  }
  return found;
}

device::DeviceType device_type_of(const sbp::Placement& placement) {
  return device::parse_device(placement.type).type;
}

sbp::LayoutRef on_devices(const sbp::LayoutRef& layout, device::DeviceType type) {
  if (device_type_of(*layout->placement) == type) return layout;
  const sbp::Placement& from = *layout->placement;
  const char* name = type == device::DeviceType::kCpu ? "cpu" : "cuda";
  return sbp::layout(sbp::placement(name, from.shape, from.ranks), layout->sbp);
}

bool all_addressable(const sbp::Placement& placement) {
  return static_cast<int64_t>(addressable(placement).positions.size()) == placement.count();
}

void Enrolment::enter(const Ref<TracedGlobals>& list, TensorImpl* tensor) {
  leave();
  list_ = list;
  tensor_ = tensor;
  list_->tensors.insert(tensor_);
}

void Enrolment::leave() {
  if (list_) list_->tensors.erase(tensor_);
  list_ = nullptr;
}

void copy_global(const TensorImpl& from, TensorImpl& to) {
  to.global = from.global ? std::make_unique<GlobalPart>(*from.global) : nullptr;
  if (from.global && from.global->traced.list()) to.global->traced.enter(from.global->traced.list(), &to);
}

std::string where_is(const TensorImpl& tensor) {
  if (!tensor.global) return cat("a local tensor of shape ", tensor.sizes);
  return tensor.global->decided ? cat("on ", *layout_of(tensor)) : cat("on ", *layout_of(tensor)->placement);
}

bool is_unshared(const TensorImpl& tensor) {
  if (tensor.use_count() != 1 || tensor.storage->use_count() != 1) return false;
  if (tensor.global) [[unlikely]]
    for (const Tensor& shard : tensor.global->shards)
      if (!is_unshared(*shard)) return false;
  return true;
}

Tensor wrap_shards(const Dims& sizes, DType dtype, const sbp::LayoutRef& layout, std::vector<Tensor> shards) {
  if (!globals_exist()) g_globals_exist = true;
  Tensor result = make_ref<TensorImpl>();
  size_t size_bytes = static_cast<size_t>(numel(sizes)) * static_cast<size_t>(size_of(dtype));
  result->storage = make_ref<Storage>(size_bytes, Storage::Global());
  result->dtype = dtype;
  result->sizes = sizes;
  result->strides = contiguous_strides(sizes);
  result->inference = modes().inference;
  result->global = std::make_unique<GlobalPart>(GlobalPart{layout, std::move(shards), false, true, {}});
  return result;
}

Tensor make_global(const Dims& sizes, DType dtype, const sbp::LayoutRef& layout, std::vector<Tensor> shards) {
  check_layout(*layout, sizes, "to_global");
  const Addressable& here = addressable(*layout->placement);
  TW_CHECK(shards.size() == here.positions.size(), kPlacement, "to_global: ", here.positions.size(),
           " parts are wanted, one for each rank of ", *layout->placement, " in this process, got ",
           shards.size());
  for (size_t k = 0; k < shards.size(); k++) {
    Dims wanted = box_of(*layout, sizes, here.positions[k]).sizes;
    TW_CHECK(shards[k]->sizes == wanted, kPlacement, "to_global: the part of rank ",
             layout->placement->ranks[here.positions[k]], " must have shape ", wanted, ", for ", *layout,
             " of shape ", sizes, ", got ", shards[k]->sizes);
    TW_CHECK(shards[k]->dtype == dtype, kType, "to_global: parts of one dtype are wanted, got ", dtype,
             " and ", shards[k]->dtype);
  }
  return wrap_shards(sizes, dtype, layout, std::move(shards));
}

Tensor empty_global(const Dims& sizes, DType dtype, const sbp::LayoutRef& layout) {
  check_layout(*layout, sizes, "empty");
  if (Tracer* tracer = modes().tracer) {
    Tensor traced = empty(sizes, dtype);
    tracer->make_global(*traced, layout, !layout->is_broadcast());
    return traced;
  }
  const Addressable& here = addressable(*layout->placement);
  std::vector<Tensor> shards;
  for (size_t k = 0; k < here.positions.size(); k++)
    shards.push_back(empty(box_of(*layout, sizes, here.positions[k]).sizes, dtype, here.devices[k]));
  return wrap_shards(sizes, dtype, layout, std::move(shards));
}

namespace {

template <class Change>
sbp::LayoutRef changed(const sbp::LayoutRef& layout, const Change& change) {
  sbp::NdSbp sbp = layout->sbp;
  for (sbp::Sbp& s : sbp) change(s);
  return sbp::layout(layout->placement, sbp);
}

bool is(const sbp::Sbp& s, sbp::Kind kind) { return s.kind == kind; }

}  // namespace

sbp::LayoutRef broadcast_on(const sbp::PlacementRef& placement) {
  thread_local std::unordered_map<const sbp::Placement*, sbp::LayoutRef> known;
  sbp::LayoutRef& found = known[placement.get()];
  if (!found) found = sbp::layout(placement, sbp::NdSbp(placement->shape.size()));
  return found;
}

sbp::LayoutRef without_partial(const sbp::LayoutRef& layout) {
  if (!layout->has_partial()) return layout;
  return changed(layout, [](sbp::Sbp& s) {
    if (is(s, sbp::Kind::kPartial)) s = sbp::broadcast();
  });
}

sbp::LayoutRef gradient_of_parts(const sbp::LayoutRef& layout) {
  return changed(layout, [](sbp::Sbp& s) {
    if (!is(s, sbp::Kind::kSplit)) s = is(s, sbp::Kind::kBroadcast) ? sbp::partial() : sbp::broadcast();
  });
}

namespace {

Tensor on_kind(const TensorImpl& tensor, device::DeviceType type) {
  GradModeGuard off(false);
  sbp::LayoutRef there = on_devices(layout_of(tensor), type);
  const Addressable& here = addressable(*there->placement);
  std::vector<Tensor> parts;
  for (size_t k = 0; k < here.devices.size(); k++)
    parts.push_back(to_device(tensor.global->shards[k], here.devices[k]));
  return wrap_shards(tensor.sizes, tensor.dtype, there, std::move(parts));
}

}  // namespace

Tensor box(const TensorImpl& tensor, const sbp::LayoutRef& to) {
  if (layout_of(tensor) == to) return alias(tensor);
  check_layout(*to, tensor.sizes, "to_global");
  device::DeviceType type = device_type_of(*to->placement);
  if (type != device_type_of(*layout_of(tensor)->placement)) return box(*on_kind(tensor, type), to);
  if (same_parts(*layout_of(tensor), *to, tensor.sizes)) {
    Tensor result = alias(tensor);
    result->global->layout = to;
    return result;
  }
  return wrap_shards(tensor.sizes, tensor.dtype, to, move_parts(tensor, to));
}

Tensor whole_here(const TensorImpl& tensor) {
  TW_CHECK(!tensor.storage->symbolic(), kRuntime,
           "a traced function cannot read the value of a tensor; use tensor operations instead");
  const sbp::PlacementRef& placement = layout_of(tensor)->placement;
  TW_CHECK(!tensor.global->shards.empty(), kPlacement, "reading the value of a tensor on ", *placement,
           ": only processes with one of these ranks know it, and this one has rank ",
           comm::world().first_rank(),
           "; to_global(placement, sbp.broadcast), called by all of both placements, ", "brings it there");
  return box(tensor, broadcast_on(placement))->global->shards[0];
}

}  // namespace tw::eager

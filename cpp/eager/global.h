// Global tensors: one logical tensor, whose parts lie on the devices of a placement. A process holds the
// parts of its own ranks (the addressable ones); what a part is follows from layout, sizes and position
// alone.
//
// All functions here are collective where parts have to move between processes: every process with a rank in
// the placements calls them in the same order.
#pragma once

#include <atomic>
#include <span>
#include <unordered_set>
#include <vector>

#include "eager/tensor.h"
#include "sbp/layout.h"

namespace tw::eager {

// The addressable devices of a placement.
struct Addressable {
  std::vector<int64_t> positions;  // in the placement, ascending
  std::vector<device::Device> devices;
  int version = -1;  // of the world
};
const Addressable& addressable(const sbp::Placement& placement);
bool all_addressable(const sbp::Placement& placement);
// The same placement, or layout, on devices of another kind.
sbp::LayoutRef on_devices(const sbp::LayoutRef& layout, device::DeviceType type);
device::DeviceType device_type_of(const sbp::Placement& placement);

// The tensors of a trace that stand for global ones, as far as they live.
struct TracedGlobals final : RefCounted {
  std::unordered_set<TensorImpl*> tensors;
};

// A tensor's place among them. A copy of it is none.
class Enrolment {
 public:
  Enrolment() = default;
  Enrolment(const Enrolment&) {}
  Enrolment& operator=(const Enrolment&) = delete;
  ~Enrolment() { leave(); }
  void enter(const Ref<TracedGlobals>& list, TensorImpl* tensor);
  void leave();
  const Ref<TracedGlobals>& list() const { return list_; }

 private:
  Ref<TracedGlobals> list_;
  TensorImpl* tensor_ = nullptr;
};

struct GlobalPart {
  sbp::LayoutRef layout;
  // Off the tape, one for each addressable device, in the order of positions; none while it is traced.
  std::vector<Tensor> shards;
  bool copied = false;  // made by a view op that had to copy: writing to it is refused
  // False while a program is traced that is to choose the layout: `layout` then says the placement, with B.
  bool decided = true;
  Enrolment traced;
};

// Whether this process has ever made a global tensor: until then ops need not look for them.
extern std::atomic<bool> g_globals_exist;
inline bool globals_exist() { return g_globals_exist.load(std::memory_order_relaxed); }

inline const sbp::LayoutRef& layout_of(const TensorImpl& tensor) { return tensor.global->layout; }
// `to` becomes global as `from` is, or local.
void copy_global(const TensorImpl& from, TensorImpl& to);

// "on cpu[0, 1] S(0)", or "a local tensor of shape [2, 3]".
std::string where_is(const TensorImpl& tensor);
// Nobody else has the tensor or its memory: it may be overwritten.
bool is_unshared(const TensorImpl& tensor);

// A global tensor of given parts, off the tape. Throws kPlacement where a part has other sizes than the
// layout says, kType where dtypes differ.
Tensor make_global(const Dims& sizes, DType dtype, const sbp::LayoutRef& layout, std::vector<Tensor> shards);
// The same, unchecked.
Tensor wrap_shards(const Dims& sizes, DType dtype, const sbp::LayoutRef& layout, std::vector<Tensor> shards);
Tensor empty_global(const Dims& sizes, DType dtype, const sbp::LayoutRef& layout);

// The same placement with B on every axis; with every P replaced by B.
sbp::LayoutRef broadcast_on(const sbp::PlacementRef& placement);
sbp::LayoutRef without_partial(const sbp::LayoutRef& layout);
// What a tensor has whose parts are used as local tensors: gradients of B come from every part as P(sum).
sbp::LayoutRef gradient_of_parts(const sbp::LayoutRef& layout);

// The tensor laid out in another way, off the tape; shares the parts where nothing has to move. To devices of
// another kind each rank brings its part.
Tensor box(const TensorImpl& tensor, const sbp::LayoutRef& to);

// The recorded forms; those between global tensors, and from a whole, can be traced. The gradient lies as
// `grad` says; null: as the input, with P become B.
Tensor to_global(const Tensor& tensor, const sbp::LayoutRef& to, const sbp::LayoutRef& grad = nullptr);
// Local tensors become the parts of a global one of these sizes, and move to its devices where they lie
// elsewhere.
Tensor parts_to_global(const std::vector<Tensor>& parts, const Dims& sizes, const sbp::LayoutRef& to,
                       const sbp::LayoutRef& grad = nullptr);
std::vector<Tensor> to_parts(const Tensor& tensor);
// A local tensor that is the whole, the same in every process, is laid out without asking others; on any
// device.
Tensor whole_to_global(const Tensor& whole, const sbp::LayoutRef& to, const sbp::LayoutRef& grad = nullptr);
// The whole as a local tensor, off the tape.
Tensor whole_here(const TensorImpl& tensor);

}  // namespace tw::eager

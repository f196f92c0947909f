#include "eager/global_boxing.h"

#include "eager/dispatch.h"
#include "eager/modes.h"
#include "ir/emitter.h"

namespace tw::eager {

namespace {

using sbp::Kind;

// The elements of `box` in a tensor that holds the whole.
ir::Value window_of(const Tensor& whole, const sbp::Box& box) {
  ir::Value view(whole);
  for (size_t d = 0; d < box.sizes.size(); d++)
    if (box.sizes[d] != whole->sizes[d])
      view = ir::op<"slice">(view, static_cast<int64_t>(d), box.first[d], box.first[d] + box.sizes[d], 1);
  return view;
}

void copy_into(const ir::Value& to, const ir::Value& from) {
  const ir::Value inputs[] = {to, from};
  dispatch_inplace(ir::registry().get("copy"), inputs, {}, nullptr);
}

// The whole, put together on one device.
class Assembler {
 public:
  explicit Assembler(const TensorImpl& from)
      : from_(from), layout_(*layout_of(from)), at_(layout_.sbp.size()) {}

  Tensor whole(size_t axis = 0) {
    if (axis == layout_.sbp.size()) return pieces();
    const sbp::Sbp& s = layout_.sbp[axis];
    if (s.kind != Kind::kPartial) return whole(axis + 1);
    ir::Value sum;
    for (at_[axis] = 0; at_[axis] < layout_.placement->shape[axis]; at_[axis]++) {
      ir::Value next(whole(axis + 1));
      sum = !sum                              ? next
            : s.reduce == sbp::ReduceOp::kSum ? ir::op<"add">(sum, next)
            : s.reduce == sbp::ReduceOp::kMax ? ir::op<"maximum">(sum, next)
                                              : ir::op<"minimum">(sum, next);
    }
    at_[axis] = 0;
    return as_tensor(sum);
  }

 private:
  // Of the devices whose coordinates on pending axes are those of at_.
  Tensor pieces() {
    Tensor result = empty(from_.sizes, from_.dtype);
    for (int64_t position = 0; position < layout_.placement->count(); position++) {
      Dims at = layout_.placement->coordinates(position);
      bool taken = true;
      for (size_t a = 0; a < at.size(); a++) taken &= layout_.sbp[a].kind == Kind::kSplit || at[a] == at_[a];
      if (!taken) continue;
      copy_into(window_of(result, box_of(layout_, from_.sizes, position)),
                ir::Value(from_.global->shards[position]));
    }
    return result;
  }

  const TensorImpl& from_;
  const sbp::Layout& layout_;
  Dims at_;
};

}  // namespace

std::vector<Tensor> lay_out(const Tensor& whole, const sbp::LayoutRef& to) {
  const Addressable& here = addressable(*to->placement);
  std::vector<Tensor> parts;
  for (size_t k = 0; k < here.positions.size(); k++) {
    DeviceGuard device(here.devices[k]);
    sbp::Box box = box_of(*to, whole->sizes, here.positions[k]);
    Dims at = to->placement->coordinates(here.positions[k]);
    bool neutral = false;  // all but the first device of a pending sum hold zeros
    for (size_t a = 0; a < at.size(); a++) neutral |= to->sbp[a] == sbp::partial() && at[a] > 0;
    Tensor part = empty(box.sizes, whole->dtype);
    copy_into(ir::Value(part), neutral ? ir::op<"full">(box.sizes, 0, whole->dtype) : window_of(whole, box));
    parts.push_back(std::move(part));
  }
  return parts;
}

std::vector<Tensor> move_parts(const TensorImpl& tensor, const sbp::LayoutRef& to) {
  TW_CHECK(all_addressable(*layout_of(tensor)->placement), kNotImplemented,
           "to_global: ranks of other processes are not reached yet");
  CreationGuard local(nullptr);
  return lay_out(Assembler(tensor).whole(), to);
}

}  // namespace tw::eager

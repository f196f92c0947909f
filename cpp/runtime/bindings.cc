#include "runtime/bindings.h"

#include <algorithm>

#include "base/error.h"

namespace tw::runtime {

using plan::SegmentKind;

BindingLayout::BindingLayout(const plan::Plan& plan)
    : segments_(plan.segments.size()), numbers_(plan.numbers.size()) {
  for (size_t i = 0; i < segments_; i++) {
    const plan::Segment& segment = plan.segments[i];
    auto& slots = slots_[static_cast<int>(segment.kind)];
    slots.resize(std::max(slots.size(), static_cast<size_t>(segment.index) + 1));
    slots[segment.index] = {static_cast<int>(i), segment.size_bytes > 0};
  }
}

void BindingLayout::fill(const Bindings& from, StepBindings* to) const {
  to->bases.resize(segments_);
  auto fill_kind = [&](SegmentKind kind, std::span<void* const> addresses, const char* name) {
    const auto& slots = slots_[static_cast<int>(kind)];
    TW_CHECK(addresses.size() == slots.size(), kValue, "run: the plan has ", slots.size(), " ", name,
             "s, got ", addresses.size());
    for (size_t i = 0; i < slots.size(); i++) {
      TW_CHECK(addresses[i] || !slots[i].needed, kValue, "run: ", name, " ", i, " has no memory");
      to->bases[slots[i].segment] = static_cast<char*>(addresses[i]);
    }
  };
  fill_kind(SegmentKind::kInput, from.inputs, "input");
  fill_kind(SegmentKind::kVariable, from.variables, "variable");
  fill_kind(SegmentKind::kConstant, from.constants, "constant");
  fill_kind(SegmentKind::kOutput, from.outputs, "output");
  TW_CHECK(from.numbers.size() == numbers_, kValue, "run: the plan has ", numbers_, " numbers, got ",
           from.numbers.size());
  to->numbers.assign(from.numbers.begin(), from.numbers.end());
  to->seed = from.seed;
  to->first_draw = from.first_draw;
  to->keys.assign(from.keys.begin(), from.keys.end());
}

}  // namespace tw::runtime

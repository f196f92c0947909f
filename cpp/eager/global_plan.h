// How an op runs on global tensors: what each input is brought into, how the outputs lie, and the attributes
// of every part. Remembered by op, attributes, dtypes, sizes and layouts.
#pragma once

#include <memory>
#include <vector>

#include "eager/global.h"
#include "ir/op_def.h"

namespace tw::eager {

struct GlobalPlan {
  std::vector<sbp::LayoutRef> inputs;  // null: absent, or a number
  std::vector<sbp::LayoutRef> outputs;
  SmallVector<ir::Meta, 2> metas;  // of the whole outputs
  // Of each addressable part; empty where all use the call's own.
  std::vector<std::unique_ptr<ir::AttrBox>> attrs;
};

// The cheapest way to run `def` (see sbp/choose.h). `result`: a layout that output 0 should have, where that
// costs nothing. Throws what inference throws.
std::shared_ptr<const GlobalPlan> plan_of(const ir::OpDef& def, const sbp::PlacementRef& placement,
                                          std::span<const ir::Value> inputs, std::span<const int> starts,
                                          const void* attrs, const sbp::Layout* result);
// The same for an op that writes its result into input 0, which stays as it lies; null where no signature
// can.
std::shared_ptr<const GlobalPlan> plan_inplace(const ir::OpDef& def, std::span<const ir::Value> inputs,
                                               std::span<const int> starts, const void* attrs);
// The op's signatures on one axis, all-B left out. Empty for ops without a rule.
std::vector<sbp::Signature> signatures_of(const ir::OpDef& def, std::span<const ir::Value> inputs,
                                          std::span<const ir::Meta> outputs, const void* attrs);
// Attributes of the part at a position, made from those of the whole.
void localize(const ir::OpDef& def, const GlobalPlan& plan, std::span<const ir::Value> inputs,
              int64_t position, void* attrs);

}  // namespace tw::eager

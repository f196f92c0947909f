// The way of ops on global tensors: plan → boxing → the op on every addressable part → wrapping → tape.
#pragma once

#include "eager/global_plan.h"

namespace tw::eager {

// Whether an op concerns global tensors: one is among the inputs, or it makes a tensor from nothing where
// modes() asks for global ones.
bool is_global_call(std::span<const ir::Value> inputs);
// Where such a call runs. Throws kPlacement unless all its global inputs lie there and the others are
// numbers.
sbp::PlacementRef placement_of(const ir::OpDef& def, std::span<const ir::Value> inputs,
                               std::span<const int> starts);
// A composite, or an op that says how to cut only what it is made of, or, in a trace, one that has no kernel
// where such a call runs.
bool expands(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts);

// As dispatch(), after autocast and promotion.
void dispatch_global(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts,
                     void* attrs, ir::Values* outputs);

// In place: the plan where the op can write input 0 part by part (null otherwise), and the launch.
std::shared_ptr<const GlobalPlan> inplace_plan(const ir::OpDef& def, std::span<const ir::Value> inputs,
                                               std::span<const int> starts, const void* attrs);
void launch_inplace(const ir::OpDef& def, const GlobalPlan& plan, std::span<const ir::Value> inputs,
                    std::span<const int> starts, void* attrs);
// Throws where input 0 may not be written: it is local and others are global, or a copy in place of a view.
void check_global_target(const ir::OpDef& def, std::span<const ir::Value> inputs,
                         std::span<const int> starts);

}  // namespace tw::eager

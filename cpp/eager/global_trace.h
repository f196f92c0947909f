// Ops on global tensors while a program is traced: nodes of logical values, whose layouts the program's
// passes choose. Only what the user says is decided: where arguments and tensors of the outside lie, what
// to_global() gives, what is made from nothing in pieces.
#pragma once

#include "eager/global.h"
#include "eager/tracer.h"

namespace tw::eager {

// How the results of an op lie: as modes().creation says, where the op has no inputs and that splits, which
// is then decided; else nothing is but the placement, with B. Throws kPlacement unless all inputs share it.
sbp::LayoutRef layout_in_trace(const ir::OpDef& def, std::span<const ir::Value> inputs,
                               std::span<const int> starts);
// Parts of a traced global tensor whose layout is decided, one for each device of this process, and back.
std::vector<Tensor> take_parts_in_trace(Tracer& tracer, const Tensor& tensor);
Tensor join_parts_in_trace(Tracer& tracer, const std::vector<Tensor>& parts, const Dims& sizes,
                           const sbp::LayoutRef& to);
// A local tensor that is the whole.
Tensor spread_in_trace(Tracer& tracer, const Tensor& whole, const sbp::LayoutRef& to);

// Marks results of an op that was recorded.
void lay_out_in_trace(Tracer& tracer, std::span<const ir::Value> inputs, const sbp::LayoutRef& layout,
                      std::span<Tensor> results);

// An op that writes inputs. Tuples of tensors that are updated element by element, as in steps of optimizers,
// are a node each, since each may lie in its own way.
void trace_mutation(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts,
                    const void* attrs);

// The tensor in another layout. A local one is taken to be the same whole in every process.
Tensor box_in_trace(Tracer& tracer, const Tensor& tensor, const sbp::LayoutRef& to);
// Where the gradient of such a boxing goes when nothing else is said: as the input lies, with P become B;
// null: as the passes choose.
sbp::LayoutRef gradient_in_trace(const TensorImpl& tensor, const sbp::LayoutRef& to);

}  // namespace tw::eager

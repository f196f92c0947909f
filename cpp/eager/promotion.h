// Which dtype an op's tensor inputs are brought to before it runs, by PyTorch's rules: tensors with dims
// outrank 0-dim tensors, which outrank Python numbers; within a rank the dtypes promote; a higher kind (int <
// float < complex) in a lower rank still wins.
#pragma once

#include <span>

#include "eager/tensor.h"
#include "ir/op_def.h"

namespace tw::eager {

using InputList = SmallVector<ir::Value, 4>;

DType result_type(std::span<const ir::Value> inputs);
// Casts (on the tape) the inputs that `def.promotion` concerns; returns false and leaves `out` alone where
// nothing changes.
bool promote_inputs(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts,
                    InputList* out);
// The same for autocast; only called while it is on.
bool autocast_inputs(const ir::OpDef& def, std::span<const ir::Value> inputs, InputList* out);

// The same for an op that casts its first input to its dtype attribute.
bool cast_to_attribute(const ir::OpDef& def, std::span<const ir::Value> inputs, const void* attrs,
                       InputList* out);

}  // namespace tw::eager

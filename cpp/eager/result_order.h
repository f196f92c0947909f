// Where the elements of an op's results lie: the strides that `order` of its definition gives them.
#pragma once

#include <span>

#include "eager/tensor.h"
#include "ir/op_def.h"

namespace tw::eager {

// Gives fresh results (null ones excepted) the strides that follow from the inputs.
void order_results(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<Tensor> results);

// A row-major copy, recorded as the modes say.
Tensor row_major_copy(const Tensor& tensor);

// A copy that walks memory as `target` does, which has the same sizes; row-major where target has gaps.
Tensor copy_in_order_of(const Tensor& tensor, const TensorImpl& target);
// Whether `tensor` lies so already.
bool lies_in_order_of(const TensorImpl& tensor, const TensorImpl& target);

}  // namespace tw::eager

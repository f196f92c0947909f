#include "eager/result_order.h"

#include "base/memory_order.h"
#include "ir/emitter.h"

namespace tw::eager {

namespace {

void set_strides(TensorImpl& tensor, Dims strides) {
  tensor.strides = std::move(strides);
  tensor.contiguous = is_contiguous(tensor.sizes, tensor.strides);
}

// The usual case, told without sorting dims.
bool plainly_row_major(std::span<const ir::Value> inputs, const Dims& sizes) {
  bool alike = true;
  for (const ir::Value& input : inputs) {
    if (!input) continue;
    if (!tensor_of(input).contiguous) return false;
    alike = alike && input->sizes == sizes;
  }
  if (alike) return true;
  // Strides of dims of size 1 may still speak of another order.
  for (const ir::Value& input : inputs)
    if (input && input->rank() > 1 && tensor_of(input).strides != contiguous_strides(input->sizes))
      return false;
  return true;
}

void order_like_inputs(std::span<const ir::Value> inputs, std::span<Tensor> results) {
  const Tensor& first = results[0];
  if (!first || first->sizes.size() < 2 || plainly_row_major(inputs, first->sizes)) return;
  SmallVector<Window, 6> windows;
  for (const ir::Value& input : inputs)
    if (input) windows.push_back({&input->sizes, &tensor_of(input).strides});
  Dims strides = pointwise_strides(first->sizes, {windows.data(), windows.size()});
  for (Tensor& result : results)
    if (result->sizes == first->sizes) set_strides(*result, strides);
}

// Lists of any length have no parameters to name: all of them must agree. A tensor of shape [0] is no input.
bool all_are_channels_last(std::span<const ir::Value> inputs) {
  bool any = false;
  for (const ir::Value& input : inputs) {
    if (!input || (input->rank() == 1 && input->sizes[0] == 0)) continue;
    any = true;
    if (!is_channels_last(input->sizes, tensor_of(input).strides)) return false;
  }
  return any;
}

bool one_is_channels_last(const ir::OpDef& def, std::span<const ir::Value> inputs) {
  for (size_t i = 0; i < inputs.size(); i++)
    if ((def.order_params >> i & 1) && inputs[i] &&
        is_channels_last(inputs[i]->sizes, tensor_of(inputs[i]).strides))
      return true;
  return false;
}

}  // namespace

void order_results(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<Tensor> results) {
  if (def.order == ir::ResultOrder::kRowMajor || results.empty()) return;
  if (def.order == ir::ResultOrder::kLikeInputs) return order_like_inputs(inputs, results);
  bool last = def.order_params == ~0u ? all_are_channels_last(inputs) : one_is_channels_last(def, inputs);
  if (!last) return;
  for (Tensor& result : results)
    if (result && (result->rank() == 4 || result->rank() == 5))
      set_strides(*result, channels_last_strides(result->sizes));
}

Tensor row_major_copy(const Tensor& tensor) { return as_tensor(ir::op<"row_major">(ir::Value(tensor))); }

bool lies_in_order_of(const TensorImpl& tensor, const TensorImpl& target) {
  if (target.contiguous || !is_dense(target.sizes, target.strides)) return tensor.contiguous;
  return same_walk(target.sizes, tensor.strides, target.strides);
}

Tensor copy_in_order_of(const Tensor& tensor, const TensorImpl& target) {
  if (target.contiguous || !is_dense(target.sizes, target.strides)) return row_major_copy(tensor);
  int64_t rank = target.rank();
  IntList order(rank), back(rank);
  for (int64_t i = 0; i < rank; i++) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return target.strides[a] > target.strides[b]; });
  for (int64_t i = 0; i < rank; i++) back[order[i]] = i;
  ir::Value turned = ir::op<"permute">(ir::Value(tensor), order);
  return as_tensor(ir::op<"permute">(ir::op<"row_major">(turned), back));
}

}  // namespace tw::eager

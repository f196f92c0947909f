#include "eager/result_order.h"

#include "base/memory_order.h"
#include "ir/emitter.h"
#include "ir/result_order.h"

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

}  // namespace

void order_results(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<Tensor> results) {
  if (def.order == ir::ResultOrder::kRowMajor || results.empty() || !results[0]) return;
  const Dims& first = results[0]->sizes;
  if (def.order == ir::ResultOrder::kLikeInputs && plainly_row_major(inputs, first)) return;
  SmallVector<Window, 6> windows;
  for (const ir::Value& input : inputs)
    windows.push_back(input ? Window{&input->sizes, &tensor_of(input).strides} : Window{nullptr, nullptr});
  for (Tensor& result : results)
    if (result)
      set_strides(*result, ir::result_strides(def, {windows.data(), windows.size()}, first, result->sizes));
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

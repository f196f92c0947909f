#include "ir/result_order.h"

namespace tw::ir {

namespace {

// Lists of any length have no parameters to name: all of them must agree. A tensor of shape [0] is no input.
bool all_are_channels_last(std::span<const Window> inputs) {
  bool any = false;
  for (const Window& input : inputs) {
    if (!input.sizes || (input.sizes->size() == 1 && (*input.sizes)[0] == 0)) continue;
    any = true;
    if (!is_channels_last(*input.sizes, *input.strides)) return false;
  }
  return any;
}

bool one_is_channels_last(const OpDef& def, std::span<const Window> inputs) {
  for (size_t i = 0; i < inputs.size(); i++)
    if ((def.order_params >> i & 1) && inputs[i].sizes &&
        is_channels_last(*inputs[i].sizes, *inputs[i].strides))
      return true;
  return false;
}

}  // namespace

Dims result_strides(const OpDef& def, std::span<const Window> inputs, const Dims& first, const Dims& sizes) {
  if (def.order == ResultOrder::kLikeInputs && first.size() >= 2 && sizes == first) {
    SmallVector<Window, 6> present;
    for (const Window& input : inputs)
      if (input.sizes) present.push_back(input);
    return pointwise_strides(sizes, {present.data(), present.size()});
  }
  if (def.order == ResultOrder::kChannelsLast && (sizes.size() == 4 || sizes.size() == 5)) {
    bool last = def.order_params == ~0u ? all_are_channels_last(inputs) : one_is_channels_last(def, inputs);
    if (last) return channels_last_strides(sizes);
  }
  return contiguous_strides(sizes);
}

}  // namespace tw::ir

#include "eager/saved.h"

#include "eager/node.h"

namespace tw::eager {

SavedTensor::SavedTensor(const Tensor& tensor, bool is_output)
    : tensor_(is_output ? alias(*tensor) : tensor),
      version_(tensor->storage->version),
      output_nr_(tensor->output_nr),
      is_output_(is_output) {
  TW_CHECK(!tensor->inference, kRuntime,
           "a tensor made in inference mode cannot be saved for backward; clone() it outside inference mode "
           "first");
  if (is_output) tensor_->requires_grad = false;
}

Tensor SavedTensor::unpack(const Ref<Node>& owner, const char* op) const {
  if (!tensor_) return nullptr;
  TW_CHECK(tensor_->storage->version == version_, kRuntime, op, ": a ", tensor_->dtype, " tensor of shape ",
           tensor_->sizes,
           " that backward needs has been changed by an in-place operation: it is at version ",
           tensor_->storage->version, ", version ", version_, " was saved");
  if (!is_output_ || !owner) return tensor_;
  Tensor result = alias(*tensor_);
  result->grad_fn = owner;
  result->output_nr = output_nr_;
  return result;
}

}  // namespace tw::eager

#include "eager/saved.h"

namespace tw::eager {

namespace {

thread_local SavedHooks* t_saved_hooks __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

SavedHooks* saved_hooks() { return t_saved_hooks; }
void set_saved_hooks(SavedHooks* hooks) { t_saved_hooks = hooks; }

SavedTensor::SavedTensor(const Tensor& tensor, bool is_output)
    : tensor_(is_output ? alias(*tensor) : tensor),
      version_(tensor->storage->version),
      output_nr_(tensor->output_nr),
      is_output_(is_output),
      number_(tensor->wrapped_number) {
  TW_CHECK(!tensor->inference, kRuntime,
           "a tensor made in inference mode cannot be saved for backward; clone() it outside inference mode "
           "first");
  if (is_output) tensor_->requires_grad = false;
  if (SavedHooks* hooks = saved_hooks()) {
    if (!is_output && tensor->needs_grad()) edge_ = gradient_edge(*tensor);
    packed_ = hooks->pack(tensor_);
    tensor_ = nullptr;
  }
}

Tensor SavedTensor::unpacked(const Ref<Node>& owner) const {
  Tensor result = packed_->unpack();
  TW_CHECK(result, kType, "saved_tensors_hooks: unpack must return a tensor");
  result = alias(*result);
  result->wrapped_number = number_;
  if (is_output_ ? static_cast<bool>(owner) : static_cast<bool>(edge_.node)) {
    result->grad_fn = is_output_ ? owner : edge_.node;
    result->output_nr = is_output_ ? output_nr_ : edge_.input_nr;
  }
  return result;
}

Tensor SavedTensor::unpack(const Ref<Node>& owner, const char* op) const {
  if (packed_) return unpacked(owner);
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

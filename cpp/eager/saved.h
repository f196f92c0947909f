// A tensor kept for backward, with the version it had.
#pragma once

#include "eager/node.h"

namespace tw::eager {

// What stands for a saved tensor until backward wants it back.
class Packed {
 public:
  virtual ~Packed() = default;
  virtual Tensor unpack() = 0;
};

// While a thread has hooks, the tensors that it saves for backward go through them.
class SavedHooks {
 public:
  virtual ~SavedHooks() = default;
  virtual std::shared_ptr<Packed> pack(const Tensor& tensor) = 0;
};
SavedHooks* saved_hooks();  // of this thread, or null
void set_saved_hooks(SavedHooks* hooks);

class SavedTensor {
 public:
  SavedTensor() = default;
  // An output of the node that saves it is kept off the tape, or node and tensor would own each other.
  SavedTensor(const Tensor& tensor, bool is_output);

  // Throws kRuntime when an in-place op has changed the tensor since. `owner` is the node that made an
  // output.
  Tensor unpack(const Ref<Node>& owner, const char* op) const;
  void reset() {
    tensor_ = nullptr;
    packed_ = nullptr;
    edge_ = {};
  }

 private:
  Tensor unpacked(const Ref<Node>& owner) const;

  Tensor tensor_;
  std::shared_ptr<Packed> packed_;  // in its place
  Edge edge_;                       // of a packed tensor: where its gradient goes
  uint32_t version_ = 0;
  uint32_t output_nr_ = 0;
  bool is_output_ = false;
  bool number_ = false;  // made from a Python number
};

}  // namespace tw::eager

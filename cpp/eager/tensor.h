// The eager tensor: a strided window on a storage, and its place on the tape.
#pragma once

#include <memory>

#include "base/scalar.h"
#include "eager/storage.h"
#include "ir/value.h"
#include "ir/view.h"

namespace tw::eager {

class Node;
class AccumulateGrad;
class TensorImpl;
using Tensor = Ref<TensorImpl>;
struct GlobalPart;  // see global.h

// Python callbacks attached to a tensor; the binding implements it.
class TensorHooks {
 public:
  virtual ~TensorHooks() = default;
  virtual void on_grad(Tensor& grad) = 0;               // may replace it
  virtual void after_accumulate(TensorImpl& leaf) = 0;  // of a leaf, when its .grad has been updated
};

// A view keeps the tensor it looks into, so that writing to one of them can rewrite the history of both.
struct ViewInfo {
  Tensor base;                     // never itself a view
  uint32_t version = 0;            // of the storage when grad_fn was last right
  bool made_without_grad = false;  // under no_grad: writing to it with grad mode on would lose history
};

class TensorImpl final : public ir::ValueImpl, public FreeListed<TensorImpl> {
 public:
  TensorImpl();
  ~TensorImpl() override;

  Ref<Storage> storage;
  Dims strides;
  int64_t offset = 0;      // in elements
  bool contiguous = true;  // in row-major order

  // Tape. A leaf has `requires_grad`; a result has `grad_fn` and the number of its output there. Read grad_fn
  // with gradient_edge() or grad_fn_of(): that of a view may be out of date.
  bool requires_grad = false;
  bool retains_grad = false;
  bool inference = false;  // made in inference mode: may not be saved for backward
  uint32_t output_nr = 0;
  Ref<Node> grad_fn;
  Ref<AccumulateGrad> accumulator;
  Tensor grad;
  std::unique_ptr<ViewInfo> view;
  std::shared_ptr<TensorHooks> hooks;
  // Of a global tensor: how it lies, and the parts that this process holds. Sizes, strides and tape are those
  // of the whole, and the storage has no memory.
  std::unique_ptr<GlobalPart> global;
  // The Python object of this tensor while there is one (not owned).
  void* python = nullptr;

  void* data() const { return static_cast<char*>(storage->data()) + offset * size_of(dtype); }
  bool needs_grad() const { return requires_grad || grad_fn; }
  bool is_leaf() const { return !grad_fn; }
  device::Device device() const { return storage->device(); }
  ir::Geometry geometry() const { return {sizes, strides, offset}; }
  void set_geometry(ir::Geometry geometry);
};

inline TensorImpl& tensor_of(const ir::Value& value) { return static_cast<TensorImpl&>(*value); }
inline Tensor as_tensor(const ir::Value& value) { return Tensor(static_cast<TensorImpl*>(value.get())); }

// A fresh contiguous tensor with unset elements, on the device of modes() unless one is given. Throws kValue
// on negative sizes, kOutOfMemory.
Tensor empty(const Dims& sizes, DType dtype);
Tensor empty(const Dims& sizes, DType dtype, device::Device device);
// The same for memory that the caller fills itself: real memory even while a program is traced, a constant of
// it.
Tensor empty_for_host(const Dims& sizes, DType dtype);
// A 0-dim tensor of a number; `wrapped` makes it rank as a Python number in promotion.
Tensor scalar_tensor(const Scalar& value, DType dtype);
// The same number as an operand: shared, never to be written.
const Tensor& wrapped_number(const Scalar& value, DType dtype);
// Another tensor over the same memory, off the tape.
Tensor alias(const TensorImpl& tensor);
Tensor alias(const TensorImpl& tensor, const ir::Geometry& geometry);
// The number in a tensor of one element; throws kValue otherwise.
Scalar item(const TensorImpl& tensor);

// Throws kRuntime unless every element of such a window lies in the storage.
void check_window(const Storage& storage, const ir::Geometry& window, DType dtype, const char* op);
// Throws unless elements of `tensor` may be written one by one: refuses expanded and read-only memory.
void check_writable(const TensorImpl& tensor, const char* op);

}  // namespace tw::eager

// What a kernel sees: typed, strided operands and the op's attributes. Kernels know nothing of tensors, tapes
// or graphs; eager dispatch and the runtime both call them through this interface.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/dims.h"
#include "base/dtype.h"
#include "base/function_ref.h"

namespace tw::device {

// A strided array in memory; `sizes` and `strides` (in elements) belong to the caller. `data` already points
// at the first element. An optional input that was not given is not present().
struct Operand {
  void* data = nullptr;
  const Dims* sizes = nullptr;
  const Dims* strides = nullptr;
  DType dtype = DType::kFloat32;

  bool present() const { return sizes != nullptr; }
  int64_t rank() const { return static_cast<int64_t>(sizes->size()); }
  int64_t size(int64_t dim) const { return (*sizes)[dim < 0 ? dim + rank() : dim]; }
  int64_t stride(int64_t dim) const { return (*strides)[dim < 0 ? dim + rank() : dim]; }
  int64_t count() const { return numel(*sizes); }
  bool contiguous() const { return is_contiguous(*sizes, *strides); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

class KernelContext {
 public:
  std::span<const Operand> inputs;  // in schema order, lists flattened
  std::span<Operand> outputs;
  const void* attributes = nullptr;
  // Where each tensor parameter's operands begin in `inputs`; entry [n] is the end. Only for ops with list
  // inputs.
  std::span<const int> input_starts;
  const char* op = "";
  // For ops whose output sizes depend on data: gives output `i` contiguous memory of these sizes.
  FunctionRef<void(int, const Dims&)> allocate_output;

  template <class A>
  const A& attrs() const {
    return *static_cast<const A*>(attributes);
  }
  const Operand& in(int i) const { return inputs[i]; }
  const Operand& out(int i = 0) const { return outputs[i]; }
  // The operands of tensor parameter `param`, when it is a list.
  std::span<const Operand> list(int param) const {
    return inputs.subspan(input_starts[param], input_starts[param + 1] - input_starts[param]);
  }
};

using Kernel = void (*)(KernelContext&);

// Kernels by op name. Filled once while the library loads, read-only afterwards.
class KernelTable {
 public:
  void add(std::string_view op, Kernel kernel);  // throws kInternal when `op` has one already
  Kernel find(std::string_view op) const;        // null when there is none

 private:
  std::unordered_map<std::string, Kernel> kernels_;
};

}  // namespace tw::device

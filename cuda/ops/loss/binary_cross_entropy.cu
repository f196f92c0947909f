// binary_cross_entropy_each and its gradient. Bytes: the operands once; two logarithms an element forward.
// Floor: bytes over the bandwidth.
//
// Per element: 12 bytes and 40 operations (binary_cross_entropy, float32).
#include "ops/loss/binary_cross_entropy_formula.h"

#include "cuda/common/pointwise_ops.h"

namespace tw::cuda {

namespace {

struct CrossEntropy {
  template <class C>
  TW_DEVICE C operator()(C x, C target) const {
    return ops::binary_cross_entropy_of(std::log(x), std::log1p(-x), target);
  }
};
struct CrossEntropyGradient {
  template <class C>
  TW_DEVICE C operator()(C g, C x, C target) const {
    return ops::binary_cross_entropy_gradient(g, x, target);
  }
};

void backward_kernel(device::KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T, T, T>(k, CrossEntropyGradient()); });
}

}  // namespace

void kernels_binary_cross_entropy(device::KernelTable& table) {
  table.add("binary_cross_entropy_each", floats_kernel<CrossEntropy>);
  table.add("binary_cross_entropy_backward", backward_kernel);
}

}  // namespace tw::cuda

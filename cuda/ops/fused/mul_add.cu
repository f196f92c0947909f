// mul_add: a b rounded, and c added. Bytes: three operands read, one written, once. Floor: bytes over the
// bandwidth.
//
// Per element: 16 bytes and 2 operations (mul_add, float32).
#include "cuda/common/pointwise.h"
#include "cuda/common/rounded.h"

namespace tw::cuda {

namespace {

struct MulAdd {
  template <class C>
  TW_DEVICE C operator()(C a, C b, C c) const {
    return rounded_product(a, b) + c;
  }
};

void mul_add_kernel(device::KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T, T, T>(k, MulAdd()); });
}

}  // namespace

void kernels_mul_add(device::KernelTable& table) { table.add("mul_add", mul_add_kernel); }

}  // namespace tw::cuda

// conj. Bytes: the operands' once. Floor: bytes over the bandwidth. Real tensors are copied.
//
// Per element: 16 bytes and 1 operation (conj, complex64).
#include "cuda/common/complex.h"

#include "cuda/common/copy.h"
#include "cuda/common/pointwise.h"

namespace tw::cuda {

namespace {

struct Conjugate {
  template <class C>
  TW_DEVICE C operator()(C z) const {
    return {z.re, -z.im};
  }
};

void conj_kernel(device::KernelContext& k) {
  if (!is_complex(k.in(0).dtype)) return copy_cast(k.out(), k.in(0), k.op);
  dispatch_device_complex(k.in(0).dtype, [&]<class C>() { pointwise<C, C>(k, Conjugate()); });
}

}  // namespace

void kernels_complex(device::KernelTable& table) { table.add("conj", conj_kernel); }

}  // namespace tw::cuda

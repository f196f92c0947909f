// conj, real, imag, complex, polar. Bytes: the operands' once. Floor: bytes over the bandwidth. Real tensors
// are copied.
//
// Per element: 16 bytes and 1 operation (conj, complex64).
#include "cuda/common/complex.h"

#include <cmath>

#include "cuda/common/copy.h"
#include "cuda/common/pointwise.h"

namespace tw::cuda {

namespace {

struct Conjugate {
  template <class C>
  TW_DEVICE C operator()(C z) const {
    return conjugate(z);
  }
};
struct Join {
  template <class R>
  TW_DEVICE Complex<R> operator()(R re, R im) const {
    return {re, im};
  }
};
struct OnCircle {
  template <class R>
  TW_DEVICE Complex<R> operator()(R size, R angle) const {
    return {size * std::cos(angle), size * std::sin(angle)};
  }
};
struct ImaginaryPart {
  template <class R>
  TW_DEVICE R operator()(Complex<R> z) const {
    return z.im;
  }
};

void conj_kernel(device::KernelContext& k) {
  if (!is_complex(k.in(0).dtype)) return copy_cast(k.out(), k.in(0), k.op);
  dispatch_device_complex(k.in(0).dtype, [&]<class C>() { pointwise<C, C>(k, Conjugate()); });
}

void real_kernel(device::KernelContext& k) { copy_cast(k.out(), k.in(0), k.op); }
void imag_kernel(device::KernelContext& k) {
  dispatch_device_complex(k.in(0).dtype,
                          [&]<class C>() { pointwise<C, decltype(C::re)>(k, ImaginaryPart()); });
}

template <class F>
void pair_kernel(device::KernelContext& k) {
  dispatch_full_float(k.in(0).dtype, k.op, [&]<class R>() { pointwise<R, R, Complex<R>>(k, F()); });
}

}  // namespace

void kernels_complex(device::KernelTable& table) {
  table.add("conj", conj_kernel);
  table.add("real", real_kernel);
  table.add("imag", imag_kernel);
  table.add("complex", pair_kernel<Join>);
  table.add("polar", pair_kernel<OnCircle>);
}

}  // namespace tw::cuda

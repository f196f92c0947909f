// Elementary functions of complex numbers, in double for either dtype, as on the CPU: they are rare.
#pragma once

#include "cuda/common/complex.h"
#include "cuda/common/pointwise.h"

#ifdef TW_CUDA_EMULATOR
#include <complex>
#else
#include <cuda/std/complex>
#endif

namespace tw::cuda {

// What has exp(z), sin(z) and their kin on the device; formulas of ops/complex_formula.h take it.
#ifdef TW_CUDA_EMULATOR
using WideComplex = std::complex<double>;
#else
using WideComplex = ::cuda::std::complex<double>;
#endif

template <class R>
TW_DEVICE WideComplex to_wide(Complex<R> z) {
  return WideComplex(z.re, z.im);
}
template <class C>
TW_DEVICE C to_narrow(WideComplex z) {
  using R = decltype(C::re);
  return {static_cast<R>(z.real()), static_cast<R>(z.imag())};
}

// F::of_complex(z) or F::of_complex(a, b), of the wide ones.
template <class F>
struct OfComplex {
  template <class C>
  TW_DEVICE C operator()(C z) const
    requires requires(WideComplex wide) { F::of_complex(wide); }
  {
    return to_narrow<C>(F::of_complex(to_wide(z)));
  }
  template <class C>
  TW_DEVICE C operator()(C a, C b) const
    requires requires(WideComplex wide) { F::of_complex(wide, wide); }
  {
    return to_narrow<C>(F::of_complex(to_wide(a), to_wide(b)));
  }
};

}  // namespace tw::cuda

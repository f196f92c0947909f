// logsumexp over any dims: the largest element of each result, then the sum of exponentials less it. Reads
// the input twice; one exponential an element. Floor: the input's bytes over the bandwidth, once.
//
// Per element: 8 bytes and 20 operations (logsumexp, float32).
#include <cmath>
#include <limits>

#include "cuda/common/complex_functions.h"
#include "cuda/common/complex_warp.h"
#include "cuda/common/reduce.h"
#include "ops/reduction/reduction.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

template <class C>
struct Largest {
  TW_DEVICE C none() const { return -std::numeric_limits<C>::infinity(); }
  TW_DEVICE C map(C x) const { return x; }
  TW_DEVICE C combine(C a, C b) const { return b > a ? b : a; }
  TW_DEVICE C finish(C x) const { return std::isfinite(x) ? x : C(0); }
};

template <class C>
struct SumOfExponentials {
  const C* shifts;  // of each result
  C shift;
  TW_DEVICE SumOfExponentials of_result(int64_t at) const { return {shifts, shifts[at]}; }
  TW_DEVICE C none() const { return C(0); }
  TW_DEVICE C map(C x) const { return std::exp(x - shift); }
  TW_DEVICE C combine(C a, C b) const { return a + b; }
  TW_DEVICE C finish(C total) const { return shift + std::log(total); }
};

// Complex numbers are shifted by the largest real part, and summed in double.
struct LargestReal {
  TW_DEVICE double none() const { return -std::numeric_limits<double>::infinity(); }
  template <class R>
  TW_DEVICE double map(Complex<R> z) const {
    return z.re;
  }
  TW_DEVICE double combine(double a, double b) const { return b > a ? b : a; }
  TW_DEVICE double finish(double x) const { return std::isfinite(x) ? x : 0.0; }
};
template <class C>
struct ComplexSumOfExponentials {
  using Wide = Complex<double>;
  const double* shifts;  // of each result
  double shift;
  TW_DEVICE ComplexSumOfExponentials of_result(int64_t at) const { return {shifts, shifts[at]}; }
  TW_DEVICE Wide none() const { return {}; }
  TW_DEVICE Wide map(C z) const { return to_narrow<Wide>(exp(WideComplex(z.re - shift, z.im))); }
  TW_DEVICE Wide combine(Wide a, Wide b) const { return a + b; }
  TW_DEVICE C finish(Wide total) const { return to_narrow<C>(log(to_wide(total)) + WideComplex(shift)); }
};

void logsumexp_kernel(KernelContext& k) {
  const Operand& out = k.out();
  uint64_t mask =
      mask_of(wrap_dims(k.attrs<ops::ReduceGivenAttrs>().dim, k.in(0).rank(), k.op), k.in(0).rank());
  if (out.count() == 0) return;
  dispatch_float_or_complex(out.dtype, k.op, [&]<class T>() {
    using C = std::conditional_t<is_device_complex<T>, double, compute_t<T>>;
    DeviceScratch memory(static_cast<size_t>(out.count()) * sizeof(C));
    Operand shifts{memory.as<void>(), out.sizes, out.strides, dtype_of<C>};
    if constexpr (is_device_complex<T>) {
      reduce<T, double>(k.in(0), shifts, mask, k.op, LargestReal());
      reduce<T, Complex<double>>(k.in(0), out, mask, k.op,
                                 ComplexSumOfExponentials<T>{memory.as<const double>(), 0});
    } else {
      reduce<T, C>(k.in(0), shifts, mask, k.op, Largest<C>());
      reduce<T, C>(k.in(0), out, mask, k.op, SumOfExponentials<C>{memory.as<const C>(), C(0)});
    }
  });
}

}  // namespace

void kernels_logsumexp(device::KernelTable& table) { table.add("logsumexp", logsumexp_kernel); }

}  // namespace tw::cuda

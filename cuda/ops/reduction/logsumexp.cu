// logsumexp over any dims: the largest element of each result, then the sum of exponentials less it. Reads
// the input twice; one exponential an element. Floor: the input's bytes over the bandwidth, once.
//
// Per element: 8 bytes and 20 operations (logsumexp, float32).
#include <cmath>
#include <limits>

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

void logsumexp_kernel(KernelContext& k) {
  const Operand& out = k.out();
  uint64_t mask =
      mask_of(wrap_dims(k.attrs<ops::ReduceGivenAttrs>().dim, k.in(0).rank(), k.op), k.in(0).rank());
  if (out.count() == 0) return;
  dispatch_float(out.dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    DeviceScratch shifts(static_cast<size_t>(out.count()) * sizeof(C));
    reduce<T, C>(k.in(0), {shifts.as<void>(), out.sizes, out.strides, dtype_of<C>}, mask, k.op, Largest<C>());
    reduce<T, C>(k.in(0), out, mask, k.op, SumOfExponentials<C>{shifts.as<const C>(), C(0)});
  });
}

}  // namespace

void kernels_logsumexp(device::KernelTable& table) { table.add("logsumexp", logsumexp_kernel); }

}  // namespace tw::cuda

// add, sub, rsub, mul, neg. Bytes: the operands' once; at most 2 flops an element. Floor: bytes over the
// bandwidth.
//
// Per element: 12 bytes and 1 operation (add, float32).
#include "ops/pointwise/arithmetic.h"

#include "cuda/common/complex.h"
#include "cuda/common/pointwise.h"
#include "ops/pointwise/arithmetic_formula.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

// With a factor of 1 or -1 it is a sum or a difference, bit for bit.
template <class C>
struct AddScaled {
  C alpha;
  TW_DEVICE C operator()(C a, C b) const { return ops::plus(a, ops::times(alpha, b)); }
};
struct Or {
  bool on;
  TW_DEVICE bool operator()(bool a, bool b) const { return a || (on && b); }
};
template <class C>
struct Mul {
  TW_DEVICE C operator()(C a, C b) const {
    if constexpr (std::is_same_v<C, bool>)
      return a && b;
    else
      return ops::times(a, b);
  }
};
template <class C>
struct Neg {
  TW_DEVICE C operator()(C a) const {
    if constexpr (is_device_complex<C>)
      return -a;
    else
      return ops::negative(a);
  }
};

struct Times {
  template <class C>
  TW_DEVICE C operator()(C a, C b) const {
    return a * b;
  }
};
// a + alpha b
template <class C>
struct PlusScaled {
  C alpha;
  TW_DEVICE C operator()(C a, C b) const { return a + alpha * b; }
};

// first + alpha second, of complex numbers.
void add_complex(KernelContext& k, const Operand& first, const Operand& second, complex128 alpha) {
  dispatch_device_complex(k.out().dtype, [&]<class C>() {
    using R = decltype(C::re);
    C scale = to_device_complex(std::complex<R>(alpha));
    pointwise_over(Types<C>{}, Types<C, C>{}, {&k.out()}, {&first, &second}, k.op, PlusScaled<C>{scale});
  });
}

void add_kernel(KernelContext& k) {
  const Scalar& scalar = k.attrs<ops::AlphaAttrs>().alpha;
  if (is_complex(k.out().dtype)) return add_complex(k, k.in(0), k.in(1), scalar.to_complex());
  dispatch_real_bool(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    if constexpr (std::is_same_v<T, bool>)
      pointwise<bool, bool, bool>(k, Or{scalar.to_bool()});
    else
      pointwise<T, T, T>(k, AddScaled<C>{scalar.to<C>()});
  });
}

// first - alpha * second
void subtract(KernelContext& k, const Operand& first, const Operand& second) {
  const Scalar& scalar = k.attrs<ops::AlphaAttrs>().alpha;
  if (is_complex(k.out().dtype)) return add_complex(k, first, second, -scalar.to_complex());
  dispatch_real(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    pointwise_over(Types<T>{}, Types<T, T>{}, {&k.out()}, {&first, &second}, k.op,
                   AddScaled<C>{ops::negative(scalar.to<C>())});
  });
}

void sub_kernel(KernelContext& k) { subtract(k, k.in(0), k.in(1)); }
void rsub_kernel(KernelContext& k) { subtract(k, k.in(1), k.in(0)); }

void mul_kernel(KernelContext& k) {
  if (is_complex(k.out().dtype))
    return dispatch_device_complex(k.out().dtype, [&]<class C>() { pointwise<C, C, C>(k, Times()); });
  dispatch_real_bool(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T, T>(k, Mul<compute_t<T>>{}); });
}

void neg_kernel(KernelContext& k) {
  dispatch_numbers(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T>(k, Neg<compute_t<T>>{}); });
}

}  // namespace

void kernels_arithmetic(device::KernelTable& table) {
  table.add("add", add_kernel);
  table.add("sub", sub_kernel);
  table.add("rsub", rsub_kernel);
  table.add("mul", mul_kernel);
  table.add("neg", neg_kernel);
}

}  // namespace tw::cuda

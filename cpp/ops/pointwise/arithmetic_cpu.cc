// Kernels of add, sub, rsub, mul and neg. One pass over the operands; the floor is their bytes over the
// bandwidth.
#include "device/cpu/loops.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/arithmetic_formula.h"

namespace tw::ops {

using namespace device;

namespace {

void add_kernel(KernelContext& k) {
  const Scalar& scalar = k.attrs<AlphaAttrs>().alpha;
  dispatch_all(k.out().dtype, k.op, [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>) {
      bool on = scalar.to_bool();
      binary_loop<bool, bool, bool>(k, [on](bool a, bool b) { return a || (on && b); });
    } else if (scalar == Scalar(1)) {
      binary_loop<T, T, T>(k, [](compute_t<T> a, compute_t<T> b) { return plus(a, b); });
    } else {
      auto alpha = scalar.to<compute_t<T>>();
      binary_loop<T, T, T>(k, [alpha](compute_t<T> a, compute_t<T> b) { return plus(a, times(alpha, b)); });
    }
  });
}

// first - alpha * second
void subtract(KernelContext& k, const Operand& first, const Operand& second) {
  const Scalar& scalar = k.attrs<AlphaAttrs>().alpha;
  dispatch_number(k.out().dtype, k.op, [&]<class T>() {
    if (scalar == Scalar(1)) {
      binary_loop<T, T, T>(k.out(), first, second,
                           [](compute_t<T> a, compute_t<T> b) { return minus(a, b); });
    } else {
      auto alpha = scalar.to<compute_t<T>>();
      binary_loop<T, T, T>(k.out(), first, second,
                           [alpha](compute_t<T> a, compute_t<T> b) { return minus(a, times(alpha, b)); });
    }
  });
}

void sub_kernel(KernelContext& k) { subtract(k, k.in(0), k.in(1)); }
void rsub_kernel(KernelContext& k) { subtract(k, k.in(1), k.in(0)); }

void mul_kernel(KernelContext& k) {
  dispatch_all(k.out().dtype, k.op, [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>) {
      binary_loop<bool, bool, bool>(k, [](bool a, bool b) { return a && b; });
    } else {
      binary_loop<T, T, T>(k, [](compute_t<T> a, compute_t<T> b) { return times(a, b); });
    }
  });
}

void neg_kernel(KernelContext& k) {
  dispatch_number(k.out().dtype, k.op,
                  [&]<class T>() { unary_loop<T, T>(k, [](compute_t<T> a) { return negative(a); }); });
}

}  // namespace

void kernels_arithmetic(KernelTable& table) {
  table.add("add", add_kernel);
  table.add("sub", sub_kernel);
  table.add("rsub", rsub_kernel);
  table.add("mul", mul_kernel);
  table.add("neg", neg_kernel);
}

}  // namespace tw::ops

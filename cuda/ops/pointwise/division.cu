// true_divide, trunc_divide, floor_divide, remainder, fmod. Bytes: the operands' once; some 10 to 40
// instructions an element. Floor: bytes over the bandwidth. A division of integers by zero
// is an error, which the next to wait for the device is told.
//
// Per element: 12 bytes and 10 operations (true_divide, float32).
#include "cuda/common/functions.h"
#include "cuda/common/mistakes.h"
#include "ops/pointwise/division_formula.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

struct TrueDivide {
  template <class C>
  TW_DEVICE C operator()(C a, C b) const {
    return a / b;
  }
};
void true_divide_kernel(KernelContext& k) {
  dispatch_float_or_complex(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T, T>(k, TrueDivide()); });
}

void divided_by_zero(const char* op, int64_t, int64_t) {
  TW_FAIL(kRuntime, op, ": ZeroDivisionError: an integer was divided by zero");
}

template <class F, class T>
struct OfIntegers {
  MistakeNote by_zero;
  TW_DEVICE T operator()(T a, T b) const {
    if (b != 0) return F()(a, b);
    by_zero();
    return T(0);
  }
};

template <class F>
void divide(KernelContext& k) {
  if (is_float(k.out().dtype)) return binary_kernel<F>(k);
  MistakeNote by_zero = mistake_note(k.op, divided_by_zero);
  dispatch_int(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T, T>(k, OfIntegers<F, T>{by_zero}); });
}

}  // namespace

void kernels_division(device::KernelTable& table) {
  table.add("true_divide", true_divide_kernel);
  table.add("trunc_divide", divide<ops::TruncDivideFormula>);
  table.add("floor_divide", divide<ops::FloorDivideFormula>);
  table.add("remainder", divide<ops::RemainderFormula>);
  table.add("fmod", divide<ops::FmodFormula>);
}

}  // namespace tw::cuda

// true_divide, trunc_divide, floor_divide, remainder, fmod. Bytes: the operands' once; some 10 to 40
// instructions an element. Floor: bytes over the bandwidth. Divisions of integers wait for the device, since
// one by zero is an error.
//
// Per element: 12 bytes and 10 operations (true_divide, float32).
#include "cuda/common/flag.h"
#include "cuda/common/functions.h"
#include "ops/pointwise/division_formula.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

TW_BINARY_FUNCTION(TrueDivide, g / x)

template <class F, class T>
struct OfIntegers {
  int* by_zero;
  TW_DEVICE T operator()(T a, T b) const {
    if (b != 0) return F()(a, b);
    raise_flag(by_zero);
    return T(0);
  }
};

template <class F>
void divide(KernelContext& k) {
  if (is_float(k.out().dtype)) return binary_kernel<F>(k);
  DeviceFlag by_zero;
  dispatch_int(k.out().dtype, k.op,
               [&]<class T>() { pointwise<T, T, T>(k, OfIntegers<F, T>{by_zero.data()}); });
  TW_CHECK(!by_zero.raised(), kRuntime, k.op, ": ZeroDivisionError: an integer was divided by zero");
}

}  // namespace

void kernels_division(device::KernelTable& table) {
  table.add("true_divide", binary_kernel<TrueDivide>);
  table.add("trunc_divide", divide<ops::TruncDivideFormula>);
  table.add("floor_divide", divide<ops::FloorDivideFormula>);
  table.add("remainder", divide<ops::RemainderFormula>);
  table.add("fmod", divide<ops::FmodFormula>);
}

}  // namespace tw::cuda

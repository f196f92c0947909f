// true_divide, trunc_divide, floor_divide, remainder, fmod. Bytes: the operands' once; some 10 to 40
// instructions an element. Floor: bytes over the bandwidth. A division of integers by zero
// is an error, which the next to wait for the device is told.
//
// Per element: 12 bytes and 10 operations (true_divide, float32).
#include "cuda/common/mistakes.h"
#include "cuda/common/pointwise_ops.h"
#include "ops/pointwise/division_formula.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

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

struct DivisionOps : PointwiseOps {
  using PointwiseOps::PointwiseOps;

  template <class F>
  void divisions(const char* op, F) {
    table_.add(op, [](KernelContext& k) {
      if (is_float(k.out().dtype)) return dispatch_float(k.out().dtype, k.op, pass<F>(k));
      MistakeNote by_zero = mistake_note(k.op, divided_by_zero);
      dispatch_int(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T, T>(k, OfIntegers<F, T>{by_zero}); });
    });
  }
};

}  // namespace

void kernels_division(device::KernelTable& table) { ops::add_division(DivisionOps(table)); }

}  // namespace tw::cuda

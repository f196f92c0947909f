// One pass over the operands. true_divide and trunc_divide of floats run at the bandwidth or at the divider's
// rate; the others call the C library's fmod and are scalar, integers use the scalar divider.
#include <atomic>

#include "ops/pointwise/division_formula.h"
#include "ops/pointwise_ops_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

template <class F>
void divide(KernelContext& k) {
  std::atomic<bool> by_zero = false;
  dispatch_real(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    if constexpr (std::is_integral_v<T>) {
      std::atomic<bool>* seen = &by_zero;
      binary_loop<T, T, T>(k, [seen](C a, C b) {
        if (b != 0) return F()(a, b);
        seen->store(true, std::memory_order_relaxed);
        return C(0);
      });
    } else {
      binary_loop<T, T, T>(k, [](C a, C b) { return F()(a, b); });
    }
  });
  TW_CHECK(!by_zero, kRuntime, k.op, ": ZeroDivisionError: an integer was divided by zero");
}

struct DivisionOps : PointwiseOps<CpuLoops> {
  using PointwiseOps::PointwiseOps;

  template <class F>
  void divisions(const char* op, F) {
    table_.add(op, divide<F>);
  }
};

}  // namespace

void kernels_division(KernelTable& table) { add_division(DivisionOps(table)); }

}  // namespace tw::ops

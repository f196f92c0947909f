// One pass; floor: the operands' bytes over the bandwidth (gcd and lcm: some divisions an element).
#include "device/cpu/loops.h"
#include "ops/pointwise/logic_formula.h"

namespace tw::ops {

using namespace device;

namespace {

struct And {
  template <class T>
  TW_INLINE T operator()(T a, T b) const {
    return a & b;
  }
};
struct Or {
  template <class T>
  TW_INLINE T operator()(T a, T b) const {
    return a | b;
  }
};
struct Xor {
  template <class T>
  TW_INLINE T operator()(T a, T b) const {
    return a ^ b;
  }
};

template <class F>
void int_bool_kernel(KernelContext& k) {
  dispatch_int_bool(k.out().dtype, k.op,
                    [&]<class T>() { binary_loop<T, T, T>(k, [](T a, T b) -> T { return F()(a, b); }); });
}
template <class F>
void int_kernel(KernelContext& k) {
  dispatch_int(k.out().dtype, k.op,
               [&]<class T>() { binary_loop<T, T, T>(k, [](T a, T b) -> T { return F()(a, b); }); });
}

void bitwise_not_kernel(KernelContext& k) {
  dispatch_int_bool(k.out().dtype, k.op, [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>)
      unary_loop<T, T>(k, [](T a) { return !a; });
    else
      unary_loop<T, T>(k, [](T a) { return static_cast<T>(~a); });
  });
}

}  // namespace

void kernels_logic(KernelTable& table) {
  table.add("bitwise_and", int_bool_kernel<And>);
  table.add("bitwise_or", int_bool_kernel<Or>);
  table.add("bitwise_xor", int_bool_kernel<Xor>);
  table.add("bitwise_not", bitwise_not_kernel);
  table.add("bitwise_left_shift", int_kernel<LeftShiftFormula>);
  table.add("bitwise_right_shift", int_kernel<RightShiftFormula>);
  table.add("gcd", int_kernel<GcdFormula>);
  table.add("lcm", int_kernel<LcmFormula>);
}

}  // namespace tw::ops

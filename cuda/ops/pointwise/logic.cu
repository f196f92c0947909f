// bitwise_and, _or, _xor, _not, shifts, gcd, lcm. Bytes: the operands' once. Floor: bytes over the bandwidth;
// gcd and lcm take up to 90 divisions an element, and as long as the slowest lane of a warp.
//
// Per element: 12 bytes and 1 operation (bitwise_and, int32).
#include "cuda/common/pointwise.h"
#include "ops/pointwise/logic_formula.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

struct And {
  template <class T>
  TW_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  TW_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  TW_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
struct Not {
  template <class T>
  TW_DEVICE T operator()(T a) const {
    if constexpr (std::is_same_v<T, bool>)
      return !a;
    else
      return static_cast<T>(~a);
  }
};

template <class F>
void int_bool_kernel(KernelContext& k) {
  dispatch_int_bool(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T, T>(k, F()); });
}
template <class F>
void int_kernel(KernelContext& k) {
  dispatch_int(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T, T>(k, F()); });
}
void not_kernel(KernelContext& k) {
  dispatch_int_bool(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T>(k, Not()); });
}

}  // namespace

void kernels_logic(device::KernelTable& table) {
  table.add("bitwise_and", int_bool_kernel<And>);
  table.add("bitwise_or", int_bool_kernel<Or>);
  table.add("bitwise_xor", int_bool_kernel<Xor>);
  table.add("bitwise_not", not_kernel);
  table.add("bitwise_left_shift", int_kernel<ops::LeftShiftFormula>);
  table.add("bitwise_right_shift", int_kernel<ops::RightShiftFormula>);
  table.add("gcd", int_kernel<ops::GcdFormula>);
  table.add("lcm", int_kernel<ops::LcmFormula>);
}

}  // namespace tw::cuda

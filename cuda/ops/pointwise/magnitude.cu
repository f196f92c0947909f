// abs, sign, sgn. Bytes: the operands' once. Floor: bytes over the bandwidth.
#include <cmath>

#include "cuda/common/pointwise.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

struct Abs {
  template <class C>
  TW_DEVICE C operator()(C x) const {
    if constexpr (std::is_floating_point_v<C>)
      return std::fabs(x);
    else if constexpr (std::is_unsigned_v<C>)
      return x;
    else
      return x < 0 ? static_cast<C>(-x) : x;
  }
};
struct Direction {
  template <class C>
  TW_DEVICE C operator()(C x) const {
    if constexpr (std::is_unsigned_v<C>)
      return x != 0;
    else
      return static_cast<C>((x > 0) - (x < 0));
  }
};

void abs_kernel(KernelContext& k) {
  dispatch_real(k.in(0).dtype, k.op, [&]<class T>() { pointwise<T, T>(k, Abs()); });
}
void sgn_kernel(KernelContext& k) {
  dispatch_real_bool(k.in(0).dtype, k.op, [&]<class T>() { pointwise<T, T>(k, Direction()); });
}

}  // namespace

void kernels_magnitude(device::KernelTable& table) {
  table.add("abs", abs_kernel);
  table.add("sign", sgn_kernel);
  table.add("sgn", sgn_kernel);
}

}  // namespace tw::cuda

// vector_norm of any order over any dims. Reads the input once; a few flops an element, for orders other than
// 0, 1, 2 and the infinite ones a power. Floor: the input's bytes over the bandwidth.
#include <cmath>
#include <limits>

#include "cuda/common/reduce.h"
#include "ops/reduction/reduction.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

enum class Order { kZero, kOne, kTwo, kMost, kLeast, kOther };

// All threads take the same branches.
template <class C>
struct VectorNorm {
  Order order;
  C p;
  TW_DEVICE C none() const { return order == Order::kLeast ? std::numeric_limits<C>::infinity() : C(0); }
  TW_DEVICE C map(C x) const {
    if (order == Order::kZero) return x != C(0) ? C(1) : C(0);
    if (order == Order::kTwo) return x * x;
    return order == Order::kOther ? std::pow(std::fabs(x), p) : std::fabs(x);
  }
  TW_DEVICE C combine(C a, C b) const {
    if (order == Order::kMost) return b > a || b != b ? b : a;  // NaN wins
    if (order == Order::kLeast) return b < a || b != b ? b : a;
    return a + b;
  }
  TW_DEVICE C finish(C total) const {
    if (order == Order::kTwo) return std::sqrt(total);
    return order == Order::kOther ? std::pow(total, C(1) / p) : total;
  }
};

Order order_of(double p) {
  if (std::isinf(p)) return p > 0 ? Order::kMost : Order::kLeast;
  return p == 0 ? Order::kZero : p == 1 ? Order::kOne : p == 2 ? Order::kTwo : Order::kOther;
}

void vector_norm_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::VectorNormAttrs>();
  uint64_t mask = mask_of(a.dim ? wrap_dims(*a.dim, k.in(0).rank(), k.op) : Dims(), k.in(0).rank());
  dispatch_full_float(k.in(0).dtype, k.op, [&]<class T>() {
    reduce<T, T, T>(k.in(0), k.out(), mask, k.op, VectorNorm<T>{order_of(a.ord), static_cast<T>(a.ord)});
  });
}

}  // namespace

void kernels_vector_norm(device::KernelTable& table) { table.add("vector_norm", vector_norm_kernel); }

}  // namespace tw::cuda

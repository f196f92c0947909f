// Floor: the input's bytes over the bandwidth (orders other than 0, 1, 2 and ±inf: a pow each).
#include <cmath>
#include <limits>

#include "device/cpu/math.h"
#include "device/cpu/reduce.h"
#include "ops/reduction/reduction.h"

namespace tw::ops {

using namespace device;

namespace {

template <class T>
void norm(KernelContext& k, double ord, uint64_t mask) {
  auto plus = [](T a, T b) { return a + b; };
  auto same = [](T total) { return total; };
  auto reduce = [&](T identity, auto combine, auto finish, auto map) {
    reduce_loop<T, T, T>(k.in(0), k.out(), mask, identity, combine, finish, map);
  };
  if (ord == 2) {
    reduce(T(0), plus, [](T total) { return std::sqrt(total); }, [](T x) { return x * x; });
  } else if (ord == 1) {
    reduce(T(0), plus, same, [](T x) { return math::detail::abs(x); });
  } else if (ord == 0) {
    reduce(T(0), plus, same, [](T x) { return T(x != 0); });
  } else if (std::isinf(ord) && ord > 0) {
    reduce(
        T(0), [](T a, T b) { return (b > a) | (b != b) ? b : a; }, same,
        [](T x) { return math::detail::abs(x); });
  } else if (std::isinf(ord)) {
    reduce(
        std::numeric_limits<T>::infinity(), [](T a, T b) { return (b < a) | (b != b) ? b : a; }, same,
        [](T x) { return math::detail::abs(x); });
  } else {
    T p = static_cast<T>(ord), inverse = static_cast<T>(1 / ord);
    reduce(
        T(0), plus, [inverse](T total) { return std::pow(total, inverse); },
        [p](T x) { return math::pow(math::detail::abs(x), p); });
  }
}

void vector_norm_kernel(KernelContext& k) {
  const auto& a = k.attrs<VectorNormAttrs>();
  Dims dims = a.dim ? wrap_dims(*a.dim, k.in(0).rank(), k.op) : Dims();
  uint64_t mask = reduce_mask(dims, k.in(0).rank());
  dispatch_full_float(k.in(0).dtype, k.op, [&]<class T>() { norm<T>(k, a.ord, mask); });
}

}  // namespace

void kernels_vector_norm(KernelTable& table) { table.add("vector_norm", vector_norm_kernel); }

}  // namespace tw::ops

// One pass; integers have no special values, their answer is written without reading them.
#include <bit>
#include <limits>

#include "device/cpu/loops.h"

namespace tw::ops {

using namespace device;

namespace {

template <class T>
inline constexpr T kInf = std::numeric_limits<T>::infinity();

struct IsNan {
  static constexpr bool of_integers = false;
  template <class T>
  TW_INLINE bool operator()(T a) const {
    return a != a;
  }
};
struct IsFinite {
  static constexpr bool of_integers = true;
  template <class T>
  TW_INLINE bool operator()(T a) const {
    if constexpr (is_complex_type<T>)
      return (*this)(a.real()) & (*this)(a.imag());
    else
      return (a - a) == 0;
  }
};
struct IsInf {
  static constexpr bool of_integers = false;
  template <class T>
  TW_INLINE bool operator()(T a) const {
    if constexpr (is_complex_type<T>)
      return (*this)(a.real()) | (*this)(a.imag());
    else
      return (a == kInf<T>) | (a == -kInf<T>);
  }
};
struct IsPosInf {
  static constexpr bool of_integers = false;
  template <class T>
  TW_INLINE bool operator()(T a) const {
    return a == kInf<T>;
  }
};
struct IsNegInf {
  static constexpr bool of_integers = false;
  template <class T>
  TW_INLINE bool operator()(T a) const {
    return a == -kInf<T>;
  }
};

template <class F>
bool answer_integers(KernelContext& k) {
  if (kind_of(k.in(0).dtype) > DTypeKind::kInt) return false;
  nullary_loop<bool>(k.out(), [] { return F::of_integers; });
  return true;
}

template <class F>
void predicate_kernel(KernelContext& k) {
  if (answer_integers<F>(k)) return;
  dispatch_float_complex(k.in(0).dtype, k.op,
                         [&]<class T>() { unary_loop<T, bool>(k, [](compute_t<T> a) { return F()(a); }); });
}
template <class F>
void real_predicate_kernel(KernelContext& k) {
  if (answer_integers<F>(k)) return;
  dispatch_float(k.in(0).dtype, k.op,
                 [&]<class T>() { unary_loop<T, bool>(k, [](compute_t<T> a) { return F()(a); }); });
}

void signbit_kernel(KernelContext& k) {
  dispatch_real_bool(k.in(0).dtype, k.op, [&]<class T>() {
    unary_loop<T, bool>(k, [](compute_t<T> a) {
      if constexpr (std::is_same_v<compute_t<T>, float>)
        return std::bit_cast<int32_t>(a) < 0;
      else if constexpr (std::is_same_v<T, double>)
        return std::bit_cast<int64_t>(a) < 0;
      else
        return std::is_signed_v<T> && a < T(0);
    });
  });
}

}  // namespace

void kernels_predicate(KernelTable& table) {
  table.add("isnan", predicate_kernel<IsNan>);
  table.add("isinf", predicate_kernel<IsInf>);
  table.add("isfinite", predicate_kernel<IsFinite>);
  table.add("isposinf", real_predicate_kernel<IsPosInf>);
  table.add("isneginf", real_predicate_kernel<IsNegInf>);
  table.add("signbit", signbit_kernel);
}

}  // namespace tw::ops

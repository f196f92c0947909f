#include "device/cpu/loops.h"

namespace tw::ops {

using namespace device;

namespace {

void conj_kernel(KernelContext& k) {
  dispatch_all(k.out().dtype, k.op, [&]<class T>() {
    if constexpr (is_complex_type<T>) {
      unary_loop<T, T>(k, [](T a) { return T(a.real(), -a.imag()); });
    } else {
      unary_loop<T, T>(k, [](compute_t<T> a) { return a; });
    }
  });
}

void real_kernel(KernelContext& k) {
  dispatch_all(k.in(0).dtype, k.op, [&]<class T>() {
    if constexpr (is_complex_type<T>) {
      unary_loop<T, typename T::value_type>(k, [](T a) { return a.real(); });
    } else {
      unary_loop<T, T>(k, [](compute_t<T> a) { return a; });
    }
  });
}

void imag_kernel(KernelContext& k) {
  dispatch_complex(k.in(0).dtype, k.op, [&]<class T>() {
    unary_loop<T, typename T::value_type>(k, [](T a) { return a.imag(); });
  });
}

}  // namespace

void kernels_complex(KernelTable& table) {
  table.add("conj", conj_kernel);
  table.add("real", real_kernel);
  table.add("imag", imag_kernel);
}

}  // namespace tw::ops

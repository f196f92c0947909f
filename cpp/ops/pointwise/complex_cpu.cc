#include <cmath>

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

void complex_kernel(KernelContext& k) {
  dispatch_full_float(k.in(0).dtype, k.op, [&]<class T>() {
    binary_loop<T, T, std::complex<T>>(k, [](T a, T b) { return std::complex<T>(a, b); });
  });
}

void polar_kernel(KernelContext& k) {
  dispatch_full_float(k.in(0).dtype, k.op, [&]<class T>() {
    binary_loop<T, T, std::complex<T>>(
        k, [](T size, T angle) { return std::complex<T>(size * std::cos(angle), size * std::sin(angle)); });
  });
}

}  // namespace

void kernels_complex(KernelTable& table) {
  table.add("conj", conj_kernel);
  table.add("real", real_kernel);
  table.add("imag", imag_kernel);
  table.add("complex", complex_kernel);
  table.add("polar", polar_kernel);
}

}  // namespace tw::ops

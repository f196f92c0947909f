// Complex elements on the device: the layout of std::complex, whose own arithmetic is the host's.
#pragma once

#include "base/dtype.h"
#include "cuda/common/platform.h"

namespace tw::cuda {

template <class R>
struct alignas(2 * sizeof(R)) Complex {
  R re, im;
};

}  // namespace tw::cuda

namespace tw {

template <>
inline constexpr DType dtype_of<cuda::Complex<float>> = DType::kComplex64;
template <>
inline constexpr DType dtype_of<cuda::Complex<double>> = DType::kComplex128;

}  // namespace tw

namespace tw::cuda {

template <class R>
TW_DEVICE Complex<R> operator+(Complex<R> a, Complex<R> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class R>
TW_DEVICE Complex<R> operator-(Complex<R> a, Complex<R> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class R>
TW_DEVICE Complex<R> operator*(Complex<R> a, Complex<R> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

template <class R>
Complex<R> to_device_complex(const std::complex<R>& z) {
  return {z.real(), z.imag()};
}

// body<Complex<float>>() or body<Complex<double>>().
template <class Body>
void dispatch_device_complex(DType dtype, Body&& body) {
  if (dtype == DType::kComplex64)
    body.template operator()<Complex<float>>();
  else
    body.template operator()<Complex<double>>();
}

// body<T>() with the device's type of any dtype.
template <class Body>
void dispatch_elements(DType dtype, const char* op, Body&& body) {
  if (is_complex(dtype))
    dispatch_device_complex(dtype, body);
  else
    dispatch_real_bool(dtype, op, body);
}

}  // namespace tw::cuda

// Complex elements on the device: the layout of std::complex, whose own arithmetic is the host's.
#pragma once

#include <cmath>
#include <limits>

#include "base/dtype.h"
#include "cuda/common/platform.h"

namespace tw::cuda {

template <class R>
struct alignas(2 * sizeof(R)) Complex {
  R re, im;
  TW_BOTH R real() const { return re; }
  TW_BOTH R imag() const { return im; }
};

}  // namespace tw::cuda

namespace tw {

template <>
inline constexpr DType dtype_of<cuda::Complex<float>> = DType::kComplex64;
template <>
inline constexpr DType dtype_of<cuda::Complex<double>> = DType::kComplex128;
template <class R>
inline constexpr bool is_complex_type<cuda::Complex<R>> = true;

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
TW_DEVICE Complex<R> operator-(Complex<R> a) {
  return {-a.re, -a.im};
}
template <class R>
TW_DEVICE bool operator==(Complex<R> a, Complex<R> b) {
  return a.re == b.re && a.im == b.im;
}
template <class R>
TW_DEVICE Complex<R> conjugate(Complex<R> z) {
  return {z.re, -z.im};
}

// In double, scaled by a power of two, so that squares neither overflow nor vanish. Infinite parts and zeros
// below the bar give what annex G of C wants of them.
template <class R>
TW_DEVICE Complex<R> operator/(Complex<R> a, Complex<R> b) {
  double x = a.re, y = a.im, c = b.re, d = b.im;
  double size = std::fmax(std::fabs(c), std::fabs(d));
  int down = 0;
  if (std::isfinite(size) && size > 0) down = -std::ilogb(size);
  c = std::scalbn(c, down);
  d = std::scalbn(d, down);
  double below = c * c + d * d;
  double re = std::scalbn((x * c + y * d) / below, down), im = std::scalbn((y * c - x * d) / below, down);
  if (re != re && im != im) {
    double infinity = std::numeric_limits<double>::infinity();
    auto boxed = [](double part) { return std::copysign(std::isinf(part) ? 1.0 : 0.0, part); };
    if (below == 0 && (x == x || y == y)) {
      re = std::copysign(infinity, c) * x;
      im = std::copysign(infinity, c) * y;
    } else if ((std::isinf(x) || std::isinf(y)) && std::isfinite(c) && std::isfinite(d)) {
      re = infinity * (boxed(x) * c + boxed(y) * d);
      im = infinity * (boxed(y) * c - boxed(x) * d);
    } else if (std::isinf(size) && std::isfinite(x) && std::isfinite(y)) {
      re = 0.0 * (x * boxed(c) + y * boxed(d));
      im = 0.0 * (y * boxed(c) - x * boxed(d));
    }
  }
  return {static_cast<R>(re), static_cast<R>(im)};
}

template <class T>
inline constexpr bool is_device_complex = false;
template <class R>
inline constexpr bool is_device_complex<Complex<R>> = true;

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

// body<T>() with the device's type of a dtype of the group.
template <class Body>
void dispatch_float_or_complex(DType dtype, const char* op, Body&& body) {
  if (is_complex(dtype))
    dispatch_device_complex(dtype, body);
  else
    dispatch_float(dtype, op, body);
}
template <class Body>
void dispatch_numbers(DType dtype, const char* op, Body&& body) {
  if (is_complex(dtype))
    dispatch_device_complex(dtype, body);
  else
    dispatch_real(dtype, op, body);
}
// Of any dtype.
template <class Body>
void dispatch_elements(DType dtype, const char* op, Body&& body) {
  if (is_complex(dtype))
    dispatch_device_complex(dtype, body);
  else
    dispatch_real_bool(dtype, op, body);
}

}  // namespace tw::cuda

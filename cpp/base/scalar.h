// A Python number as an argument: keeps whether it was a bool, an int, a float or a complex.
#pragma once

#include <complex>
#include <cstdint>

#include "base/dtype.h"

namespace tw {

class Scalar {
 public:
  Scalar() : Scalar(int64_t{0}) {}
  Scalar(bool value) : kind_(DTypeKind::kBool) { int_ = value; }
  Scalar(int value) : Scalar(static_cast<int64_t>(value)) {}
  Scalar(int64_t value) : kind_(DTypeKind::kInt) { int_ = value; }
  Scalar(double value) : kind_(DTypeKind::kFloat) { float_ = {value, 0.0}; }
  Scalar(complex128 value) : kind_(DTypeKind::kComplex) { float_ = value; }

  DTypeKind kind() const { return kind_; }
  bool is_integral() const { return kind_ <= DTypeKind::kInt; }
  double to_double() const { return is_integral() ? static_cast<double>(int_) : float_.real(); }
  int64_t to_int() const { return is_integral() ? int_ : static_cast<int64_t>(float_.real()); }
  bool to_bool() const { return is_integral() ? int_ != 0 : float_ != complex128(0.0, 0.0); }
  complex128 to_complex() const { return is_integral() ? complex128(static_cast<double>(int_)) : float_; }

  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, bool>)
      return to_bool();
    else if constexpr (is_complex_type<T>)
      return T(to_complex());
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(to_int());
    else if constexpr (is_half_type<T>)
      return T(static_cast<float>(to_double()));
    else
      return static_cast<T>(to_double());
  }

  friend bool operator==(const Scalar& a, const Scalar& b) {
    return a.kind_ == b.kind_ && (a.is_integral() ? a.int_ == b.int_ : a.float_ == b.float_);
  }

 private:
  DTypeKind kind_;
  union {
    int64_t int_;
    complex128 float_;
  };
};

// The dtype a tensor made from this number alone has: bool, int64, float32 (the default float), complex64.
DType default_dtype(DTypeKind kind);
// What tw.set_default_dtype sets: float32 or float64 (or a half type).
DType default_float();
void set_default_float(DType dtype);

void append_text(std::string& out, const Scalar& value);

}  // namespace tw

// Element types: names, sizes, kinds, promotion, and the bridge from a run-time DType to a C++ type.
#pragma once

#include <complex>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/half.h"

namespace tw {

using complex64 = std::complex<float>;
using complex128 = std::complex<double>;

// Order matters: within a kind, a later dtype holds every earlier one (except the pair of half types).
enum class DType : uint8_t {
  kBool,
  kUInt8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128,
};
inline constexpr int kDTypeCount = 12;

enum class DTypeKind : uint8_t { kBool, kInt, kFloat, kComplex };

int size_of(DType dtype);
const char* name_of(DType dtype);
bool parse_dtype(std::string_view name, DType* dtype);
DTypeKind kind_of(DType dtype);
// Smallest dtype that holds both, by PyTorch's table.
DType promote(DType a, DType b);
// The float that carries the real part: complex64 → float32; other dtypes map to themselves.
DType real_of(DType dtype);
DType complex_of(DType dtype);
// True when converting `from` to `to` loses only precision, never kind (float → int is refused by in-place
// ops).
bool can_cast(DType from, DType to);

inline bool is_bool(DType d) { return d == DType::kBool; }
inline bool is_integral(DType d) { return d >= DType::kUInt8 && d <= DType::kInt64; }  // without bool
inline bool is_float(DType d) { return d >= DType::kFloat16 && d <= DType::kFloat64; }
inline bool is_complex(DType d) { return d >= DType::kComplex64; }
inline bool is_half(DType d) { return d == DType::kFloat16 || d == DType::kBFloat16; }

inline void append_text(std::string& out, DType dtype) { out += name_of(dtype); }

template <class T>
inline constexpr DType dtype_of = [] {
  static_assert(sizeof(T) == 0, "no dtype for this C++ type");
  return DType::kBool;
}();
template <>
inline constexpr DType dtype_of<bool> = DType::kBool;
template <>
inline constexpr DType dtype_of<uint8_t> = DType::kUInt8;
template <>
inline constexpr DType dtype_of<int8_t> = DType::kInt8;
template <>
inline constexpr DType dtype_of<int16_t> = DType::kInt16;
template <>
inline constexpr DType dtype_of<int32_t> = DType::kInt32;
template <>
inline constexpr DType dtype_of<int64_t> = DType::kInt64;
template <>
inline constexpr DType dtype_of<float16> = DType::kFloat16;
template <>
inline constexpr DType dtype_of<bfloat16> = DType::kBFloat16;
template <>
inline constexpr DType dtype_of<float> = DType::kFloat32;
template <>
inline constexpr DType dtype_of<double> = DType::kFloat64;
template <>
inline constexpr DType dtype_of<complex64> = DType::kComplex64;
template <>
inline constexpr DType dtype_of<complex128> = DType::kComplex128;

template <class T>
inline constexpr bool is_complex_type = false;
template <class R>
inline constexpr bool is_complex_type<std::complex<R>> = true;
template <class T>
inline constexpr bool is_half_type = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <class T>
inline constexpr bool is_float_type = std::is_floating_point_v<T> || is_half_type<T>;

// The type arithmetic is done in: float for the half types, T itself otherwise.
template <class T>
struct ComputeType {
  using type = T;
};
template <>
struct ComputeType<float16> {
  using type = float;
};
template <>
struct ComputeType<bfloat16> {
  using type = float;
};
template <class T>
using compute_t = typename ComputeType<T>::type;
// The type long sums are kept in: float sums in blocks (see reduce.h), integers in int64.
template <class T>
struct SumType {
  using type = compute_t<T>;
};
template <>
struct SumType<bool> {
  using type = int64_t;
};
template <>
struct SumType<uint8_t> {
  using type = int64_t;
};
template <>
struct SumType<int8_t> {
  using type = int64_t;
};
template <>
struct SumType<int16_t> {
  using type = int64_t;
};
template <>
struct SumType<int32_t> {
  using type = int64_t;
};
template <class T>
using sum_t = typename SumType<T>::type;

// dispatch_float(dtype, "gelu", [&]<class T>() { ... }) calls the body with the C++ type of `dtype`, and
// throws kNotImplemented naming `op` for dtypes outside the group.
#define TW_CASE(D, T) \
  case DType::D:      \
    return body.template operator()<T>();

#define TW_DISPATCHER(NAME, ...)                                              \
  template <class Body>                                                       \
  decltype(auto) NAME(DType dtype, const char* op, Body&& body) {             \
    switch (dtype) {                                                          \
      __VA_ARGS__                                                             \
      default:                                                                \
        TW_FAIL(kNotImplemented, op, ": dtype ", dtype, " is not supported"); \
    }                                                                         \
  }

#define TW_CASES_FULL_FLOAT TW_CASE(kFloat32, float) TW_CASE(kFloat64, double)
#define TW_CASES_FLOAT TW_CASES_FULL_FLOAT TW_CASE(kFloat16, float16) TW_CASE(kBFloat16, bfloat16)
#define TW_CASES_INT       \
  TW_CASE(kUInt8, uint8_t) \
  TW_CASE(kInt8, int8_t) TW_CASE(kInt16, int16_t) TW_CASE(kInt32, int32_t) TW_CASE(kInt64, int64_t)
#define TW_CASES_BOOL TW_CASE(kBool, bool)
#define TW_CASES_COMPLEX TW_CASE(kComplex64, complex64) TW_CASE(kComplex128, complex128)

TW_DISPATCHER(dispatch_full_float, TW_CASES_FULL_FLOAT)
TW_DISPATCHER(dispatch_float, TW_CASES_FLOAT)
TW_DISPATCHER(dispatch_int, TW_CASES_INT)
TW_DISPATCHER(dispatch_int_bool, TW_CASES_INT TW_CASES_BOOL)
TW_DISPATCHER(dispatch_complex, TW_CASES_COMPLEX)
TW_DISPATCHER(dispatch_float_complex, TW_CASES_FLOAT TW_CASES_COMPLEX)
TW_DISPATCHER(dispatch_real, TW_CASES_FLOAT TW_CASES_INT)
TW_DISPATCHER(dispatch_real_bool, TW_CASES_FLOAT TW_CASES_INT TW_CASES_BOOL)
TW_DISPATCHER(dispatch_number, TW_CASES_FLOAT TW_CASES_INT TW_CASES_COMPLEX)
TW_DISPATCHER(dispatch_all, TW_CASES_FLOAT TW_CASES_INT TW_CASES_BOOL TW_CASES_COMPLEX)

// For kernels that only move bytes: calls the body with an unsigned type of the element's size.
struct alignas(8) Bytes16 {
  uint64_t low, high;
};
template <class Body>
decltype(auto) dispatch_bytes(DType dtype, Body&& body) {
  switch (size_of(dtype)) {
    case 1:
      return body.template operator()<uint8_t>();
    case 2:
      return body.template operator()<uint16_t>();
    case 4:
      return body.template operator()<uint32_t>();
    case 8:
      return body.template operator()<uint64_t>();
    default:
      return body.template operator()<Bytes16>();
  }
}

}  // namespace tw

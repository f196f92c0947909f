#include "base/scalar.h"

#include <atomic>

namespace tw {

namespace {
std::atomic<DType> g_default_float{DType::kFloat32};
}

DType default_float() { return g_default_float.load(std::memory_order_relaxed); }

void set_default_float(DType dtype) {
  TW_CHECK(is_float(dtype), kType, "set_default_dtype: a floating dtype is wanted, got ", dtype);
  g_default_float = dtype;
}

DType default_dtype(DTypeKind kind) {
  switch (kind) {
    case DTypeKind::kBool:
      return DType::kBool;
    case DTypeKind::kInt:
      return DType::kInt64;
    case DTypeKind::kFloat:
      return default_float();
    default:
      return complex_of(default_float());
  }
}

void append_text(std::string& out, const Scalar& value) {
  switch (value.kind()) {
    case DTypeKind::kBool:
      return append_text(out, value.to_bool());
    case DTypeKind::kInt:
      return append_text(out, value.to_int());
    case DTypeKind::kFloat:
      return append_text(out, value.to_double());
    default:
      out += cat("(", value.to_complex().real(), "+", value.to_complex().imag(), "j)");
  }
}

}  // namespace tw

#include "base/dtype.h"

namespace tw {

namespace {

struct Info {
  const char* name;
  int size;
  DTypeKind kind;
};

constexpr Info kInfo[kDTypeCount] = {
    {"bool", 1, DTypeKind::kBool},         {"uint8", 1, DTypeKind::kInt},
    {"int8", 1, DTypeKind::kInt},          {"int16", 2, DTypeKind::kInt},
    {"int32", 4, DTypeKind::kInt},         {"int64", 8, DTypeKind::kInt},
    {"float16", 2, DTypeKind::kFloat},     {"bfloat16", 2, DTypeKind::kFloat},
    {"float32", 4, DTypeKind::kFloat},     {"float64", 8, DTypeKind::kFloat},
    {"complex64", 8, DTypeKind::kComplex}, {"complex128", 16, DTypeKind::kComplex},
};

const Info& info(DType dtype) { return kInfo[static_cast<int>(dtype)]; }

}  // namespace

int size_of(DType dtype) { return info(dtype).size; }
const char* name_of(DType dtype) { return info(dtype).name; }
DTypeKind kind_of(DType dtype) { return info(dtype).kind; }

bool parse_dtype(std::string_view name, DType* dtype) {
  for (int i = 0; i < kDTypeCount; i++) {
    if (name != kInfo[i].name) continue;
    *dtype = static_cast<DType>(i);
    return true;
  }
  return false;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (a > b) std::swap(a, b);
  if (is_complex(b)) return a == DType::kFloat64 ? DType::kComplex128 : b;
  if (a == DType::kFloat16 && b == DType::kBFloat16) return DType::kFloat32;
  if (a == DType::kUInt8 && b == DType::kInt8) return DType::kInt16;
  return b;
}

DType real_of(DType dtype) {
  if (dtype == DType::kComplex64) return DType::kFloat32;
  if (dtype == DType::kComplex128) return DType::kFloat64;
  return dtype;
}

DType complex_of(DType dtype) {
  if (is_complex(dtype)) return dtype;
  return dtype == DType::kFloat64 ? DType::kComplex128 : DType::kComplex64;
}

bool can_cast(DType from, DType to) {
  if (is_bool(to)) return is_bool(from);
  return kind_of(from) <= kind_of(to);
}

}  // namespace tw

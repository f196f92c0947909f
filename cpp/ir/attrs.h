// Attributes of an op are a plain struct of its own. This describes such structs at run time, so that the
// binding can fill them, the tape can keep them and the printer can show them, while kernels read plain
// fields.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/dims.h"
#include "base/dtype.h"
#include "base/scalar.h"

namespace tw::ir {

enum class AttrKind : uint8_t { kBool, kInt, kFloat, kString, kScalar, kDType, kIntList, kFloatList };

using FloatList = std::vector<double>;
// Any attribute, for code that does not know the struct. monostate is None.
using AttrValue =
    std::variant<std::monostate, bool, int64_t, double, std::string, Scalar, DType, IntList, FloatList>;

template <class T>
struct AttrTraits;
template <>
struct AttrTraits<bool> {
  static constexpr AttrKind kind = AttrKind::kBool;
};
template <>
struct AttrTraits<int64_t> {
  static constexpr AttrKind kind = AttrKind::kInt;
};
template <>
struct AttrTraits<double> {
  static constexpr AttrKind kind = AttrKind::kFloat;
};
template <>
struct AttrTraits<std::string> {
  static constexpr AttrKind kind = AttrKind::kString;
};
template <>
struct AttrTraits<Scalar> {
  static constexpr AttrKind kind = AttrKind::kScalar;
};
template <>
struct AttrTraits<DType> {
  static constexpr AttrKind kind = AttrKind::kDType;
};
template <>
struct AttrTraits<IntList> {
  static constexpr AttrKind kind = AttrKind::kIntList;
};
template <>
struct AttrTraits<FloatList> {
  static constexpr AttrKind kind = AttrKind::kFloatList;
};

// Calls body.operator()<T>() with the C++ type of an attribute kind.
template <class Body>
decltype(auto) dispatch_attr(AttrKind kind, Body&& body) {
  switch (kind) {
    case AttrKind::kBool:
      return body.template operator()<bool>();
    case AttrKind::kInt:
      return body.template operator()<int64_t>();
    case AttrKind::kFloat:
      return body.template operator()<double>();
    case AttrKind::kString:
      return body.template operator()<std::string>();
    case AttrKind::kScalar:
      return body.template operator()<Scalar>();
    case AttrKind::kDType:
      return body.template operator()<DType>();
    case AttrKind::kIntList:
      return body.template operator()<IntList>();
    default:
      return body.template operator()<FloatList>();
  }
}

struct FieldType {
  AttrKind kind;
  bool optional;
  size_t offset;
};

template <class T>
struct FieldTraits {
  using type = T;
  static constexpr bool optional = false;
};
template <class T>
struct FieldTraits<std::optional<T>> {
  using type = T;
  static constexpr bool optional = true;
};

// How to make, copy and destroy a struct whose type is not known.
struct StructType {
  size_t size = 0;
  void (*construct)(void*) = nullptr;
  void (*copy)(void* to, const void* from) = nullptr;
  void (*destroy)(void*) = nullptr;
};

template <class A>
const StructType* struct_type() {
  static const StructType type = {
      sizeof(A), [](void* p) { new (p) A(); },
      [](void* to, const void* from) { new (to) A(*static_cast<const A*>(from)); },
      [](void* p) { static_cast<A*>(p)->~A(); }};
  return &type;
}

// An attribute struct of any op, owned. Small ones live inside the object.
class AttrBox {
 public:
  AttrBox() = default;
  AttrBox(const StructType* type, const void* from) : type_(type) {
    if (!type_) return;
    data_ = type_->size <= sizeof inline_ ? inline_ : ::operator new(type_->size);
    type_->copy(data_, from);
  }
  AttrBox(const AttrBox&) = delete;
  AttrBox& operator=(const AttrBox&) = delete;
  ~AttrBox() {
    if (!type_) return;
    type_->destroy(data_);
    if (data_ != inline_) ::operator delete(data_);
  }
  void* get() { return type_ ? data_ : nullptr; }
  const void* get() const { return type_ ? data_ : nullptr; }

 private:
  const StructType* type_ = nullptr;
  void* data_ = nullptr;
  alignas(16) unsigned char inline_[64];
};

AttrValue read_attr(const FieldType& field, const void* attrs);
// Writes a value of the field's kind (ints are taken for floats and scalars, one int for a list); throws
// kType, naming op and parameter.
void write_attr(const FieldType& field, void* attrs, const AttrValue& value, const char* op,
                const char* param);
std::string attr_text(const AttrValue& value);  // as Python source

}  // namespace tw::ir

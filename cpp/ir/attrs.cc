#include "ir/attrs.h"

namespace tw::ir {

namespace {

void* field_at(void* attrs, size_t offset) { return static_cast<char*>(attrs) + offset; }
const void* field_at(const void* attrs, size_t offset) { return static_cast<const char*>(attrs) + offset; }

// The conversions a caller may rely on; anything else is a kType error.
template <class T>
bool convert(const AttrValue& value, T* out) {
  if (const T* exact = std::get_if<T>(&value)) {
    *out = *exact;
    return true;
  }
  if (const int64_t* number = std::get_if<int64_t>(&value)) {
    if constexpr (std::is_same_v<T, double>) return *out = static_cast<double>(*number), true;
    if constexpr (std::is_same_v<T, Scalar>) return *out = Scalar(*number), true;
    if constexpr (std::is_same_v<T, IntList>) return *out = IntList{*number}, true;
  }
  if constexpr (std::is_same_v<T, Scalar>) {
    if (const bool* flag = std::get_if<bool>(&value)) return *out = Scalar(*flag), true;
    if (const double* number = std::get_if<double>(&value)) return *out = Scalar(*number), true;
  }
  if constexpr (std::is_same_v<T, double>) {
    if (const Scalar* number = std::get_if<Scalar>(&value)) return *out = number->to_double(), true;
  }
  return false;
}

}  // namespace

AttrValue read_attr(const FieldType& field, const void* attrs) {
  return dispatch_attr(field.kind, [&]<class T>() -> AttrValue {
    const void* at = field_at(attrs, field.offset);
    if (!field.optional) return *static_cast<const T*>(at);
    const auto& value = *static_cast<const std::optional<T>*>(at);
    return value ? AttrValue(*value) : AttrValue();
  });
}

void write_attr(const FieldType& field, void* attrs, const AttrValue& value, const char* op,
                const char* param) {
  dispatch_attr(field.kind, [&]<class T>() {
    void* at = field_at(attrs, field.offset);
    if (field.optional && std::holds_alternative<std::monostate>(value)) {
      static_cast<std::optional<T>*>(at)->reset();
      return;
    }
    T converted{};
    TW_CHECK(convert(value, &converted), kType, op, ": ", param, " has the wrong type: ", attr_text(value));
    if (field.optional) {
      *static_cast<std::optional<T>*>(at) = converted;
    } else {
      *static_cast<T*>(at) = converted;
    }
  });
}

std::string attr_text(const AttrValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return "None";
  if (const auto* text = std::get_if<std::string>(&value)) return cat('"', *text, '"');
  return std::visit(
      [](const auto& other) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(other)>, std::monostate>)
          return "";
        else
          return cat(other);
      },
      value);
}

}  // namespace tw::ir

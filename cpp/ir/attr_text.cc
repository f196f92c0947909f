#include "ir/attr_text.h"

#include <bit>
#include <cmath>

namespace tw::ir {

namespace {

void print_escaped(std::string& out, unsigned char byte) {
  constexpr char kDigits[] = "0123456789abcdef";
  out += "\\x";
  out += kDigits[byte >> 4];
  out += kDigits[byte & 15];
}

// How many bytes the UTF-8 character at the front takes; 0 when there is none (Unicode 15, table 3-7).
size_t utf8_length(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  auto follows = [&](size_t i, unsigned low = 0x80, unsigned high = 0xbf) {
    return byte(i) >= low && byte(i) <= high;
  };
  unsigned first = byte(0);
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef)
    return follows(1, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf) && follows(2) ? 3 : 0;
  if (first >= 0xf0 && first <= 0xf4)
    return follows(1, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf) && follows(2) && follows(3)
               ? 4
               : 0;
  return 0;
}

void print_complex(std::string& out, complex128 value) {
  out += '(';
  append_text(out, value.real());
  if (std::isnan(value.imag()) || !std::signbit(value.imag())) out += '+';
  append_text(out, value.imag());
  out += "j)";
}

template <class T>
void print_one(std::string& out, const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    print_string(out, value);
  } else if constexpr (std::is_same_v<T, std::monostate>) {
    out += "None";
  } else if constexpr (std::is_same_v<T, Scalar>) {
    if (value.kind() == DTypeKind::kComplex) return print_complex(out, value.to_complex());
    append_text(out, value);
  } else {
    append_text(out, value);
  }
}

const LiftedItem* find_item(std::span<const LiftedItem> lifted, int item) {
  for (const LiftedItem& one : lifted)
    if (one.item == item) return &one;
  return nullptr;
}

// What a lifted number stands for when the text does not say it.
bool is_stand_in(int64_t value) { return value == 1; }
bool is_stand_in(double value) { return value == 1; }
bool is_stand_in(const Scalar& value) { return value == Scalar(1); }
template <class T>
bool is_stand_in(const T&) {
  return true;
}

template <class T>
void print_lifted(std::string& out, const LiftedItem& lifted, const T& value) {
  out += '$';
  append_text(out, lifted.number);
  if (is_stand_in(value)) return;
  out += ':';
  print_one(out, value);
}

template <class List>
void print_list(std::string& out, const List& list, std::span<const LiftedItem> lifted) {
  out += '[';
  int item = 0;
  for (const auto& value : list) {
    if (item) out += ", ";
    const LiftedItem* number = find_item(lifted, item++);
    if (number)
      print_lifted(out, *number, value);
    else
      append_text(out, value);
  }
  out += ']';
}

// The bits that tell one number from another.
uint64_t bits_of(double value) {
  return std::isnan(value) ? 0x7ff8000000000000 : std::bit_cast<uint64_t>(value);
}
bool same(const Scalar& a, const Scalar& b) {
  if (a.kind() != b.kind()) return false;
  if (a.is_integral()) return a.to_int() == b.to_int();
  return bits_of(a.to_complex().real()) == bits_of(b.to_complex().real()) &&
         bits_of(a.to_complex().imag()) == bits_of(b.to_complex().imag());
}
bool same(double a, double b) { return bits_of(a) == bits_of(b); }
bool same(const FloatList& a, const FloatList& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) { return same(x, y); });
}
bool same(std::monostate, std::monostate) { return true; }
template <class T>
bool same(const T& a, const T& b) {
  return a == b;
}

size_t mix(size_t hash, uint64_t word) { return (hash ^ word) * 0x9E3779B97F4A7C15 + (hash >> 29); }
size_t hash_one(std::monostate) { return 0; }
size_t hash_one(const std::string& text) { return std::hash<std::string>()(text); }
size_t hash_one(double value) { return bits_of(value); }
size_t hash_one(const Scalar& value) {
  size_t hash = static_cast<size_t>(value.kind());
  if (value.is_integral()) return mix(hash, static_cast<uint64_t>(value.to_int()));
  return mix(mix(hash, bits_of(value.to_complex().real())), bits_of(value.to_complex().imag()));
}
size_t hash_one(DType dtype) { return static_cast<size_t>(dtype); }
template <class T>
  requires std::is_integral_v<T>
size_t hash_one(T value) {
  return static_cast<size_t>(value);
}
template <class List>
  requires requires(const List& list) { list.size(); }
size_t hash_one(const List& list) {
  size_t hash = list.size();
  for (const auto& item : list) hash = mix(hash, hash_one(item));
  return hash;
}

}  // namespace

void print_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    auto byte = static_cast<unsigned char>(text[0]);
    size_t length = 1;
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text[0];
    } else if (byte == '\n') {
      out += "\\n";
    } else if (byte >= 0x20 && byte < 0x7f) {
      out += text[0];
    } else if (size_t utf8 = utf8_length(text)) {
      out += text.substr(0, length = utf8);
    } else {
      print_escaped(out, byte);
    }
    text.remove_prefix(length);
  }
  out += '"';
}

void print_attr(std::string& out, const AttrValue& value, std::span<const LiftedItem> lifted) {
  if (const LiftedItem* whole = find_item(lifted, -1))
    return std::visit([&](const auto& one) { print_lifted(out, *whole, one); }, value);
  if (const auto* ints = std::get_if<IntList>(&value)) return print_list(out, *ints, lifted);
  if (const auto* floats = std::get_if<FloatList>(&value)) return print_list(out, *floats, lifted);
  std::visit([&](const auto& one) { print_one(out, one); }, value);
}

bool same_attr(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& value) { return same(value, std::get<std::decay_t<decltype(value)>>(b)); }, a);
}

size_t hash_attr(const AttrValue& value) {
  return mix(value.index(), std::visit([](const auto& one) { return hash_one(one); }, value));
}

}  // namespace tw::ir

// cat(1, " of ", dims): joins printable values into one string, for messages.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace tw {

namespace detail {
std::string number_text(double value);
}

inline void append_text(std::string& out, std::string_view value) { out += value; }
inline void append_text(std::string& out, const char* value) { out += value; }
inline void append_text(std::string& out, bool value) { out += value ? "True" : "False"; }
inline void append_text(std::string& out, char value) { out += value; }

template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>)
void append_text(std::string& out, T value) {
  out += std::to_string(value);
}

template <class T>
  requires std::is_floating_point_v<T>
void append_text(std::string& out, T value) {
  out += detail::number_text(static_cast<double>(value));
}

// Lists print as Python prints them: [2, 3].
template <class List>
  requires requires(const List& list) {
    list.begin();
    list.end();
    list.size();
  } && (!std::is_convertible_v<const List&, std::string_view>)
void append_text(std::string& out, const List& list) {
  out += '[';
  bool first = true;
  for (const auto& item : list) {
    if (!first) out += ", ";
    first = false;
    append_text(out, item);
  }
  out += ']';
}

template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (append_text(out, parts), ...);
  return out;
}

}  // namespace tw

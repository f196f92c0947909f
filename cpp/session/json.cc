#include "session/json.h"

#include <charconv>

#include "base/error.h"

namespace tw::session {

namespace {

constexpr int kDeepest = 64;

void append_utf8(std::string& out, uint32_t code) {
  auto tail = [&](int shift) { out += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    tail(12), tail(6), tail(0);
  }
}

// Where `text` stops being UTF-8; its size where it does not.
size_t utf8_end(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    auto first = static_cast<unsigned char>(text[at]);
    size_t count = first < 0x80   ? 1
                   : first < 0xc2 ? 0
                   : first < 0xe0 ? 2
                   : first < 0xf0 ? 3
                   : first < 0xf5 ? 4
                                  : 0;
    if (count == 0 || at + count > text.size()) return at;
    uint32_t code = first & (count == 1 ? 0x7f : 0x7f >> count);
    for (size_t i = 1; i < count; i++) {
      auto byte = static_cast<unsigned char>(text[at + i]);
      if ((byte & 0xc0) != 0x80) return at;
      code = code << 6 | (byte & 0x3f);
    }
    // Longer forms than needed, halves of pairs, and what lies beyond the last character.
    bool wrong = (count == 3 && code < 0x800) || (count == 4 && (code < 0x10000 || code > 0x10ffff)) ||
                 (code >= 0xd800 && code < 0xe000);
    if (wrong) return at;
    at += count;
  }
  return text.size();
}

class JsonParser {
 public:
  explicit JsonParser(std::string_view text) : text_(text) {}

  Json parse() {
    at_ = utf8_end(text_);
    if (at_ < text_.size()) fail("UTF-8");
    at_ = 0;
    Json result = value(0);
    blanks();
    if (at_ < text_.size()) fail("the end");
    return result;
  }

 private:
  [[noreturn]] void fail(const char* wanted) const {
    TW_FAIL(kValue, "JSON: ", wanted, " is wanted at byte ", at_);
  }
  void blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      at_++;
  }
  char peek() {
    blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char symbol) { return peek() == symbol && (at_++, true); }
  void expect(char symbol, const char* wanted) {
    if (!take(symbol)) fail(wanted);
  }

  Json value(int depth) {
    if (depth > kDeepest) fail("less nesting");
    Json result;
    char first = peek();
    if (first == '{') {
      object(result, depth);
    } else if (first == '[') {
      list(result, depth);
    } else if (first == '"') {
      result.kind = Json::Kind::kString;
      result.text = string();
    } else if (first == '-' || (first >= '0' && first <= '9')) {
      result.kind = Json::Kind::kNumber;
      result.text = number();
    } else {
      word(result);
    }
    return result;
  }

  void object(Json& result, int depth) {
    result.kind = Json::Kind::kObject;
    at_++;
    if (take('}')) return;
    do {
      if (peek() != '"') fail("a key");
      std::string key = string();
      expect(':', "\":\"");
      result.keys.push_back(std::move(key));
      result.items.push_back(value(depth + 1));
    } while (take(','));
    expect('}', "\",\" or \"}\"");
  }

  void list(Json& result, int depth) {
    result.kind = Json::Kind::kList;
    at_++;
    if (take(']')) return;
    do result.items.push_back(value(depth + 1));
    while (take(','));
    expect(']', "\",\" or \"]\"");
  }

  void word(Json& result) {
    for (auto [name, kind] : {std::pair("null", Json::Kind::kNull), std::pair("true", Json::Kind::kBool),
                              std::pair("false", Json::Kind::kBool)}) {
      if (!text_.substr(at_).starts_with(name)) continue;
      result.kind = kind;
      result.text = name;
      at_ += result.text.size();
      return;
    }
    fail("a value");
  }

  std::string number() {
    size_t end = text_.find_first_not_of("+-.0123456789eE", at_);
    std::string_view text = text_.substr(at_, end == std::string_view::npos ? end : end - at_);
    double parsed = 0;
    auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
    if (error == std::errc::invalid_argument || stop != text.data() + text.size()) fail("a number");
    at_ += text.size();
    return std::string(text);
  }

  std::string string() {
    std::string result;
    for (at_++;;) {
      if (at_ >= text_.size() || static_cast<unsigned char>(text_[at_]) < 0x20) fail("the end of a string");
      char c = text_[at_++];
      if (c == '"') return result;
      if (c == '\\')
        escape(result);
      else
        result += c;
    }
  }

  void escape(std::string& out) {
    constexpr std::string_view names = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    if (at_ >= text_.size()) fail("an escape");
    char c = text_[at_++];
    if (size_t i = names.find(c); i != std::string_view::npos) {
      out += meanings[i];
      return;
    }
    if (c != 'u') fail("an escape");
    uint32_t code = hex4();
    if (code >= 0xd800 && code < 0xdc00) {
      if (!text_.substr(at_).starts_with("\\u")) fail("the second half of a character");
      at_ += 2;
      uint32_t low = hex4();
      if (low < 0xdc00 || low > 0xdfff) fail("the second half of a character");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
      fail("the first half of a character");
    }
    append_utf8(out, code);
  }

  uint32_t hex4() {
    uint32_t code = 0;
    std::string_view digits = text_.substr(at_, 4);
    auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (error != std::errc() || digits.size() < 4 || stop != digits.data() + 4) fail("four hex digits");
    at_ += 4;
    return code;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

const Json* Json::find(std::string_view key) const {
  for (size_t i = 0; i < keys.size(); i++)
    if (keys[i] == key) return &items[i];
  return nullptr;
}

const Json& Json::at(std::string_view key, std::string_view what) const {
  const Json* found = find(key);
  TW_CHECK(found, kValue, what, " lacks \"", key, "\"");
  return *found;
}

const std::string& Json::string(std::string_view what) const {
  TW_CHECK(kind == Kind::kString, kValue, what, " must be a string");
  return text;
}

const std::vector<Json>& Json::list(std::string_view what) const {
  TW_CHECK(kind == Kind::kList, kValue, what, " must be a list");
  return items;
}

int64_t Json::count(std::string_view what) const {
  int64_t result = -1;
  if (kind == Kind::kNumber) {
    auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), result);
    if (error != std::errc() || stop != text.data() + text.size()) result = -1;
  }
  TW_CHECK(result >= 0, kValue, what, " must be an integer from 0 on");
  return result;
}

Json parse_json(std::string_view text) { return JsonParser(text).parse(); }

void append_json_string(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace tw::session

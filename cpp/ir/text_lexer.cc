#include "ir/text_lexer.h"

#include <algorithm>
#include <charconv>

#include "ir/attr_text.h"

namespace tw::ir {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_word_start(c) || is_digit(c); }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Reads an escape after its backslash; false when there is no such one.
bool read_escape(std::string_view& rest, std::string* out) {
  char c = rest[0];
  size_t length = 1;
  if (c == 'n') {
    *out += '\n';
  } else if (c == '"' || c == '\\') {
    *out += c;
  } else if (c == 'x' && rest.size() > 2 && hex_digit(rest[1]) >= 0 && hex_digit(rest[2]) >= 0) {
    *out += static_cast<char>(hex_digit(rest[1]) * 16 + hex_digit(rest[2]));
    length = 3;
  } else {
    return false;
  }
  rest.remove_prefix(length);
  return true;
}

}  // namespace

void TextLexer::skip_blanks() {
  while (at_ < text_.size()) {
    char c = text_[at_];
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      at_++;
    } else {
      return;
    }
  }
}

// Past the closing quote, or npos.
size_t TextLexer::string_end() const {
  for (size_t i = at_ + 1; i < text_.size() && text_[i] != '\n'; i++) {
    if (text_[i] == '\\') {
      i++;
    } else if (text_[i] == '"') {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

void TextLexer::advance() {
  skip_blanks();
  token_ = {};
  token_.text = text_.substr(at_, 0);
  if (at_ >= text_.size()) return;
  char c = text_[at_];
  char after = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
  size_t end = at_ + 1;
  if (is_word_start(c)) {
    token_.kind = TokenKind::kWord;
    while (end < text_.size() && is_word(text_[end])) end++;
  } else if (is_digit(c) || (c == '-' && is_digit(after))) {
    token_.kind = TokenKind::kNumber;
    double ignored;
    const char* stop = std::from_chars(text_.data() + at_, text_.data() + text_.size(), ignored).ptr;
    end = std::max(end, static_cast<size_t>(stop - text_.data()));
  } else if ((c == '%' || c == '$') && is_digit(after)) {
    token_.kind = c == '%' ? TokenKind::kValue : TokenKind::kLifted;
    auto [stop, error] = std::from_chars(text_.data() + at_ + 1, text_.data() + text_.size(), token_.index);
    end = stop - text_.data();
    token_.text = text_.substr(at_, end - at_);
    if (error != std::errc()) fail("a number below 2147483648");
  } else if (c == '"') {
    token_.kind = TokenKind::kString;
    end = string_end();
    if (end == std::string_view::npos) {
      token_.text = text_.substr(at_, std::min(text_.find('\n', at_), text_.size()) - at_);
      fail("a closing quote on the same line");
    }
  } else {
    token_.kind = TokenKind::kSymbol;
  }
  token_.text = text_.substr(at_, end - at_);
  at_ = end;
}

void TextLexer::expect_symbol(char symbol) {
  if (!take_symbol(symbol)) fail(cat('"', symbol, '"'));
}

void TextLexer::expect_word(std::string_view word) {
  if (!take_word(word)) fail(cat('"', word, '"'));
}

Token TextLexer::expect(TokenKind kind, std::string_view wanted) {
  if (token_.kind != kind) fail(wanted);
  return next();
}

std::string TextLexer::expect_string(std::string_view wanted) {
  Token token = expect(TokenKind::kString, wanted);
  std::string result;
  std::string_view rest = token.text.substr(1, token.text.size() - 2);
  while (!rest.empty()) {
    char c = rest[0];
    rest.remove_prefix(1);
    if (c != '\\') {
      result += c;
    } else if (!read_escape(rest, &result)) {
      fail_at(token, R"(one of \" \\ \n \x41 after each backslash)");
    }
  }
  return result;
}

int64_t TextLexer::expect_int(std::string_view wanted) {
  Token token = expect(TokenKind::kNumber, wanted);
  int64_t value = 0;
  const char* last = token.text.data() + token.text.size();
  auto [stop, error] = std::from_chars(token.text.data(), last, value);
  if (error != std::errc() || stop != last) fail_at(token, wanted);
  return value;
}

std::string TextLexer::place_of(const Token& token) const {
  std::string_view before = text_.substr(0, token.text.data() - text_.data());
  size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return cat("graph text: line ", std::count(before.begin(), before.end(), '\n') + 1, ", column ",
             before.size() - line_start + 1, ": ");
}

void TextLexer::fail_at(const Token& token, std::string_view wanted) const {
  constexpr size_t kLongest = 40;
  std::string found = "the end";
  if (token.kind != TokenKind::kEnd) {
    found.clear();
    print_string(found, token.text.substr(0, kLongest));
    if (token.text.size() > kLongest) found += "...";
  }
  TW_FAIL(kValue, place_of(token), wanted, " is wanted, got ", found);
}

}  // namespace tw::ir

// Cuts the text form of a graph into tokens, and says where they stand when one is not what is wanted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tw::ir {

enum class TokenKind : uint8_t {
  kEnd,
  kWord,    // add, float32, inf
  kNumber,  // -3, 0.5, 1e-05: its text, unread
  kString,
  kValue,   // %3
  kLifted,  // $0
  kSymbol,  // any other character
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;  // as it stands
  int index = 0;          // of %3 and $3
};

class TextLexer {
 public:
  explicit TextLexer(std::string_view text) : text_(text) { advance(); }

  const Token& peek() const { return token_; }
  Token next() {
    Token token = token_;
    advance();
    return token;
  }

  bool at(TokenKind kind, std::string_view text) const { return token_.kind == kind && token_.text == text; }
  bool at_symbol(char symbol) const { return at(TokenKind::kSymbol, {&symbol, 1}); }
  bool at_word(std::string_view word) const { return at(TokenKind::kWord, word); }
  bool take_symbol(char symbol) { return at_symbol(symbol) && (advance(), true); }
  bool take_word(std::string_view word) { return at_word(word) && (advance(), true); }
  void expect_symbol(char symbol);
  void expect_word(std::string_view word);
  Token expect(TokenKind kind, std::string_view wanted);
  std::string expect_string(std::string_view wanted);
  int64_t expect_int(std::string_view wanted);

  // "graph text: line 3, column 14: a dtype is wanted, got "float"" at the next token, or at one of before.
  [[noreturn]] void fail(std::string_view wanted) const { fail_at(token_, wanted); }
  [[noreturn]] void fail_at(const Token& token, std::string_view wanted) const;
  // "graph text: line 3, column 14: " of a token of this text.
  std::string place_of(const Token& token) const;

 private:
  void advance();
  void skip_blanks();
  size_t string_end() const;

  std::string_view text_;
  size_t at_ = 0;
  Token token_;
};

}  // namespace tw::ir

#include "ir/attr_parse.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace tw::ir {

namespace {

class AttrParser {
 public:
  AttrParser(TextLexer& lexer, const Param& param, std::vector<LiftedItem>* lifted)
      : lexer_(lexer), param_(param), lifted_(lifted) {}

  AttrValue parse() {
    if (param_.optional && lexer_.take_word("None")) return std::monostate();
    switch (param_.attr_kind) {
      case AttrKind::kBool:
        return boolean();
      case AttrKind::kInt:
        return integer(-1);
      case AttrKind::kFloat:
        return real(-1);
      case AttrKind::kString:
        return lexer_.expect_string(wanted("a string"));
      case AttrKind::kScalar:
        return scalar();
      case AttrKind::kDType:
        return dtype();
      case AttrKind::kIntList:
        return list<IntList>([&](int item) { return integer(item); });
      default:
        return list<FloatList>([&](int item) { return real(item); });
    }
  }

 private:
  std::string wanted(const char* what) const {
    return cat(what, param_.optional ? " or None" : "", " for ", param_.name);
  }

  // Takes $0 and a colon; true where no value follows it.
  bool take_lifted(int item) {
    if (lexer_.peek().kind != TokenKind::kLifted) return false;
    lifted_->push_back({item, lexer_.next().index});
    return !lexer_.take_symbol(':');
  }

  bool boolean() {
    if (lexer_.take_word("True")) return true;
    if (!lexer_.take_word("False")) lexer_.fail(wanted("True or False"));
    return false;
  }

  int64_t integer(int item) { return take_lifted(item) ? 1 : lexer_.expect_int(wanted("an int")); }

  double real(int item) { return take_lifted(item) ? 1.0 : finite_or_not(wanted("a float")); }

  DType dtype() {
    Token token = lexer_.peek();
    DType result;
    if (token.kind != TokenKind::kWord || !parse_dtype(token.text, &result)) lexer_.fail(wanted("a dtype"));
    lexer_.next();
    return result;
  }

  // -1.5, inf, -inf, nan; integers too.
  double finite_or_not(const std::string& what) {
    Token token = lexer_.peek();
    if (lexer_.take_word("inf")) return std::numeric_limits<double>::infinity();
    if (lexer_.take_word("nan")) return std::numeric_limits<double>::quiet_NaN();
    if (lexer_.take_symbol('-')) {
      if (!lexer_.take_word("inf")) lexer_.fail_at(token, what);
      return -std::numeric_limits<double>::infinity();
    }
    lexer_.expect(TokenKind::kNumber, what);
    double value = 0;
    const char* last = token.text.data() + token.text.size();
    auto [stop, error] = std::from_chars(token.text.data(), last, value);
    if (error != std::errc() || stop != last) lexer_.fail_at(token, what);
    return value;
  }

  Scalar scalar() {
    if (take_lifted(-1)) return Scalar(1);
    if (lexer_.take_word("True")) return Scalar(true);
    if (lexer_.take_word("False")) return Scalar(false);
    std::string what = wanted("a number");
    if (lexer_.take_symbol('(')) return complex(what);
    const Token& token = lexer_.peek();
    bool integral =
        token.kind == TokenKind::kNumber && token.text.find_first_of(".eE") == std::string_view::npos;
    if (integral) return Scalar(lexer_.expect_int(what));
    return Scalar(finite_or_not(what));
  }

  // The rest of (1.0-2.0j): the sign of the second part may belong to its token, inf and nan to the j.
  Scalar complex(const std::string& what) {
    double real = finite_or_not(what);
    Token token = lexer_.peek();
    bool plus = lexer_.take_symbol('+');
    double sign = 1;
    if (!plus && lexer_.take_symbol('-')) sign = -1;
    double imag;
    if (lexer_.take_word("infj")) {
      imag = std::numeric_limits<double>::infinity();
    } else if (lexer_.take_word("nanj")) {
      imag = std::numeric_limits<double>::quiet_NaN();
    } else {
      bool minus = !token.text.empty() && token.text[0] == '-';
      if (plus == minus || sign < 0) lexer_.fail_at(token, what);
      imag = finite_or_not(what);
      if (!lexer_.take_word("j")) lexer_.fail(what);
    }
    lexer_.expect_symbol(')');
    return Scalar(complex128(real, sign * imag));
  }

  template <class List, class Item>
  List list(const Item& item) {
    if (!lexer_.take_symbol('[')) lexer_.fail(wanted("a list"));
    List result;
    while (!lexer_.take_symbol(']')) {
      if (!result.empty()) lexer_.expect_symbol(',');
      result.push_back(item(static_cast<int>(result.size())));
    }
    return result;
  }

  TextLexer& lexer_;
  const Param& param_;
  std::vector<LiftedItem>* lifted_;
};

}  // namespace

AttrValue parse_attr(TextLexer& lexer, const Param& param, std::vector<LiftedItem>* lifted) {
  return AttrParser(lexer, param, lifted).parse();
}

}  // namespace tw::ir

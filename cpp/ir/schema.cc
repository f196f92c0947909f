#include "ir/schema.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tw::ir {

namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Schema parse() {
    Schema schema;
    schema.text = text_;
    schema.name = word();
    expect('(');
    bool keyword_only = false;
    size_t hidden_from = std::string_view::npos;
    while (!take(')')) {
      if (take('*')) {
        keyword_only = true;
      } else {
        size_t before = at_;
        schema.params.push_back(param(keyword_only, schema.tensor_count));
        if (schema.params.back().kind == ParamKind::kTensorList) schema.has_lists = true;
        if (is_hidden(schema.params.back())) {
          schema.params.back().keyword_only = true;
          hidden_from = std::min(hidden_from, before);
        }
      }
      take(',');
    }
    if (hidden_from < at_) schema.text = cat(shown(hidden_from), ')', text_.substr(at_));
    expect('-');
    expect('>');
    outputs(schema);
    return schema;
  }

 private:
  // Parameters that users do not see, the last ones, begin with an underscore: what `localize` tells a
  // kernel.
  static bool is_hidden(const Param& param) { return param.name[0] == '_'; }
  // The text up to there, without what separates it from what follows.
  std::string_view shown(size_t end) const {
    std::string_view text = text_.substr(0, end);
    while (text.ends_with(' ') || text.ends_with(',') || text.ends_with('*')) text.remove_suffix(1);
    return text;
  }
  [[noreturn]] void fail(const char* wanted) {
    TW_FAIL(kInternal, "schema: ", wanted, " is wanted at position ", at_, " of: ", text_);
  }
  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') at_++;
  }
  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    at_++;
    return true;
  }
  void expect(char c) {
    char wanted[2] = {c, 0};
    if (!take(c)) fail(wanted);
  }
  std::string word() {
    skip_space();
    size_t from = at_;
    while (at_ < text_.size() && (isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      at_++;
    if (from == at_) fail("a name");
    return std::string(text_.substr(from, at_ - from));
  }

  Param param(bool keyword_only, int& tensor_count) {
    Param p;
    p.keyword_only = keyword_only;
    skip_space();
    size_t from = at_;
    std::string base = word();
    bool list = false;
    if (take('?')) p.optional = true;
    if (take('[')) {
      list = true;
      if (at_ < text_.size() && isdigit(static_cast<unsigned char>(text_[at_]))) p.repeat = std::stoi(word());
      expect(']');
      if (base != "Tensor" && take('?')) p.optional = true;
    }
    if (text_.substr(at_, 3) == "...") {
      at_ += 3;
      p.variadic = true;
    }
    p.type_text = text_.substr(from, at_ - from);
    if (base == "Tensor") {
      p.kind = list ? ParamKind::kTensorList : ParamKind::kTensor;
      p.tensor_index = tensor_count++;
    } else {
      p.attr_kind = attr_kind(base, list);
    }
    p.name = word();
    if (take('=')) {
      p.has_default = true;
      p.default_value = literal(p.attr_kind);
    }
    return p;
  }

  AttrKind attr_kind(const std::string& base, bool list) {
    if (list) return base == "float" ? AttrKind::kFloatList : AttrKind::kIntList;
    if (base == "bool") return AttrKind::kBool;
    if (base == "int") return AttrKind::kInt;
    if (base == "float") return AttrKind::kFloat;
    if (base == "str") return AttrKind::kString;
    if (base == "Scalar") return AttrKind::kScalar;
    if (base == "dtype") return AttrKind::kDType;
    fail("a type");
  }

  AttrValue literal(AttrKind kind) {
    skip_space();
    if (take('"')) {
      size_t end = text_.find('"', at_);
      std::string value(text_.substr(at_, end - at_));
      at_ = end + 1;
      return value;
    }
    if (take('[')) {
      IntList ints;
      FloatList floats;
      while (!take(']')) {
        double value = number();
        ints.push_back(static_cast<int64_t>(value));
        floats.push_back(value);
        take(',');
      }
      if (kind == AttrKind::kFloatList) return floats;
      return ints;
    }
    if (isalpha(static_cast<unsigned char>(text_[at_]))) {
      std::string name = word();
      if (name == "None") return std::monostate();
      if (name == "True") return true;
      if (name == "False") return false;
      if (name == "inf")
        return kind == AttrKind::kScalar ? AttrValue(Scalar(INFINITY)) : AttrValue(double{INFINITY});
      DType dtype;
      if (kind == AttrKind::kDType && parse_dtype(name, &dtype)) return dtype;
      fail("a literal");
    }
    return number_literal(kind);
  }

  AttrValue number_literal(AttrKind kind) {
    size_t from = at_;
    double value = number();
    bool integral = text_.substr(from, at_ - from).find_first_of(".e") == std::string_view::npos;
    if (kind == AttrKind::kFloat) return value;
    if (kind == AttrKind::kIntList) return IntList{static_cast<int64_t>(value)};
    if (kind == AttrKind::kScalar) return integral ? Scalar(static_cast<int64_t>(value)) : Scalar(value);
    return static_cast<int64_t>(value);
  }

  double number() {
    skip_space();
    double value = 0;
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("a number");
    at_ = end - text_.data();
    return value;
  }

  void outputs(Schema& schema) {
    if (!take('(')) {
      word();
      schema.outputs.push_back("result");
      return;
    }
    while (!take(')')) {
      word();
      skip_space();
      bool named = at_ < text_.size() && text_[at_] != ',' && text_[at_] != ')';
      schema.outputs.push_back(named ? word() : cat("result", schema.outputs.size()));
      take(',');
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Schema parse_schema(std::string_view text) { return Parser(text).parse(); }

}  // namespace tw::ir

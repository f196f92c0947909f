#include <charconv>
#include <memory>

#include "base/error.h"
#include "plan/fields.h"
#include "plan/text.h"

namespace tw::plan {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Reads one line from its left.
class Line {
 public:
  Line(std::string_view text, size_t number) : rest_(text), number_(number) {}

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    TW_FAIL(kValue, "plan text, line ", number_, ": ", parts...);
  }
  void skip_spaces() {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
  }
  bool empty() {
    skip_spaces();
    return rest_.empty();
  }
  bool starts_with(std::string_view text) const { return rest_.substr(0, text.size()) == text; }
  bool take(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void want(char c) {
    if (!take(c)) fail('\'', c, "' is wanted, got '", rest_.substr(0, 12), '\'');
  }
  std::string_view word() {
    skip_spaces();
    size_t n = 0;
    while (n < rest_.size() && (isalnum(static_cast<unsigned char>(rest_[n])) || rest_[n] == '_')) n++;
    std::string_view result = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return result;
  }

  template <class T>
    requires std::is_integral_v<T>
  void read(T& value, int base = 10) {
    auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
    if (error != std::errc())
      fail("a number of ", sizeof(T), " bytes is wanted, got '", rest_.substr(0, 24), '\'');
    rest_.remove_prefix(end - rest_.data());
  }
  template <class T>
    requires std::is_enum_v<T>
  void read(T& value) {
    std::string_view name = word();
    auto names = names_of(T());
    for (size_t i = 0; i < names.size(); i++) {
      if (name != names[i]) continue;
      value = static_cast<T>(i);
      return;
    }
    fail("one of ", names, " is wanted, got '", name, '\'');
  }
  void read(DType& dtype) {
    std::string_view name = word();
    if (!parse_dtype(name, &dtype)) fail("a dtype is wanted, got '", name, '\'');
  }
  void read(std::string& text) {
    want('"');
    text.clear();
    while (!take('"')) {
      if (rest_.empty()) fail("a text has no end");
      char c = rest_[0];
      rest_.remove_prefix(1);
      text += c == '\\' ? escaped() : c;
    }
  }
  void read(Lifted& lifted) {
    want('(');
    read(lifted.param);
    want(',');
    skip_spaces();
    read(lifted.item);
    want(',');
    skip_spaces();
    read(lifted.number);
    want(')');
  }
  template <class List>
    requires requires(List& list) { list.push_back({}); } && (!std::is_same_v<List, std::string>)
  void read(List& list) {
    want('[');
    list.clear();
    if (take(']')) return;
    do {
      skip_spaces();
      typename List::value_type item{};
      read(item);
      list.push_back(item);
    } while (take(','));
    want(']');
  }
  // name=value pairs to the line's end, in the order of fields.h, each at most once.
  template <class T>
  void read_fields(T& item) {
    fields_of<T>([&](std::string_view name, auto member) {
      skip_spaces();
      if (!starts_with(name) || rest_.substr(name.size(), 1) != "=") return;
      rest_.remove_prefix(name.size() + 1);
      read(item.*member);
      if (!rest_.empty() && rest_[0] != ' ') fail("a space is wanted after ", name);
    });
    want_end();
  }
  void want_end() {
    if (!empty()) fail("unknown, repeated or out of order: '", rest_.substr(0, 24), '\'');
  }
  // The number that a thing's line begins with: how many there were before.
  void read_ordinal(size_t count) {
    skip_spaces();
    size_t number = 0;
    read(number);
    if (number != count) fail("number ", count, " is wanted here, got ", number);
  }

 private:
  char escaped() {
    if (take('"')) return '"';
    if (take('\\')) return '\\';
    if (take('n')) return '\n';
    if (take('x') && rest_.size() >= 2 && hex_digit(rest_[0]) >= 0 && hex_digit(rest_[1]) >= 0) {
      char c = static_cast<char>(hex_digit(rest_[0]) * 16 + hex_digit(rest_[1]));
      rest_.remove_prefix(2);
      return c;
    }
    fail("an unknown escape in a text");
  }

  std::string_view rest_;
  size_t number_;
};

class Parser {
 public:
  void read(Line line) {
    if (line.empty() || line.starts_with("#")) return;
    if (body_) {
      if (!body_->body_ && line.starts_with("end")) return end_body(line);
      return body_->read(line);
    }
    std::string_view kind = line.word();
    if (!begun_ && kind != "plan") line.fail("the first line is 'plan version=...', got '", kind, '\'');
    if (plan.seal != 0) line.fail("nothing follows the seal");
    if (kind == "plan") {
      if (begun_) line.fail("a second plan");
      begun_ = true;
      line.read_fields(plan);
    } else if (kind == "device") {
      read_text(line, 1, plan.devices);
    } else if (kind == "string") {
      read_text(line, 2, plan.strings);
    } else if (kind == "number") {
      read_text(line, 3, plan.numbers);
    } else if (kind == "segment") {
      read_item(line, 4, plan.segments);
    } else if (kind == "stream") {
      read_item(line, 5, plan.streams);
    } else if (kind == "register") {
      read_item(line, 6, plan.registers);
    } else if (kind == "value") {
      read_item(line, 7, plan.values);
    } else if (kind == "region") {
      read_item(line, 8, plan.regions);
    } else if (kind == "body") {
      if (plan.regions.empty() || place_ != 8) line.fail("a body without a region");
      line.want_end();
      body_ = std::make_unique<Parser>();
    } else if (kind == "actor") {
      read_item(line, 9, plan.actors);
    } else if (kind == "launch") {
      if (plan.actors.empty()) line.fail("a launch without an actor");
      line.read_fields(plan.actors.back().launches.emplace_back());
    } else if (kind == "seal") {
      read_seal(line);
    } else {
      line.fail("unknown: '", kind, '\'');
    }
  }
  void finish() const {
    TW_CHECK(begun_, kValue, "plan text: empty");
    TW_CHECK(!body_, kValue, "plan text: a body has no end");
  }

  Plan plan;

 private:
  void end_body(Line& line) {
    line.word();
    line.want_end();
    body_->finish();
    plan.regions.back().bodies.push_back(std::move(body_->plan));
    body_ = nullptr;
  }
  // Kinds of lines come in the order of the plan's lists.
  void want_order(Line& line, int place) {
    if (place < place_) line.fail("this kind of line comes earlier");
    place_ = place;
  }
  void read_text(Line& line, int place, std::vector<std::string>& texts) {
    want_order(line, place);
    line.read_ordinal(texts.size());
    line.skip_spaces();
    line.read(texts.emplace_back());
    line.want_end();
  }
  template <class T>
  void read_item(Line& line, int place, std::vector<T>& items) {
    want_order(line, place);
    line.read_ordinal(items.size());
    line.read_fields(items.emplace_back());
  }
  void read_seal(Line& line) {
    line.skip_spaces();
    line.want('0');
    line.want('x');
    line.read(plan.seal, 16);
    if (plan.seal == 0) line.fail("a seal is not 0");
    line.want_end();
  }

  bool begun_ = false;
  int place_ = 0;
  std::unique_ptr<Parser> body_;  // reads the body that has begun
};

}  // namespace

Plan parse_plan(std::string_view text) {
  Parser parser;
  for (size_t number = 1; !text.empty(); number++) {
    size_t end = text.find('\n');
    parser.read(Line(text.substr(0, end), number));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  parser.finish();
  return std::move(parser.plan);
}

}  // namespace tw::plan

#include <charconv>

#include "base/cat.h"
#include "plan/fields.h"
#include "plan/text.h"

namespace tw::plan {

namespace {

void put(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

template <class T>
  requires std::is_integral_v<T>
void put(std::string& out, T value) {
  append_text(out, value);
}

template <class T>
  requires std::is_enum_v<T>
void put(std::string& out, T value) {
  auto names = names_of(value);
  auto i = static_cast<size_t>(value);
  if (i < names.size())
    out += names[i];
  else
    append_text(out, i);  // not a plan that parses, but one that a message can show
}

void put(std::string& out, DType dtype) { out += name_of(dtype); }

void put(std::string& out, const Lifted& lifted) {
  out += cat('(', lifted.param, ", ", lifted.item, ", ", lifted.number, ')');
}

template <class List>
  requires requires(const List& list) { list[0]; } && (!std::is_convertible_v<const List&, std::string_view>)
void put(std::string& out, const List& list) {
  out += '[';
  for (size_t i = 0; i < list.size(); i++) {
    if (i > 0) out += ", ";
    put(out, list[i]);
  }
  out += ']';
}

template <class T>
void put_fields(std::string& out, const T& item) {
  const T standard{};
  fields_of<T>([&](const char* name, auto member) {
    if (item.*member == standard.*member) return;
    out += ' ';
    out += name;
    out += '=';
    put(out, item.*member);
  });
  out += '\n';
}

void put_texts(std::string& out, const char* kind, const std::vector<std::string>& texts) {
  for (size_t i = 0; i < texts.size(); i++) {
    out += cat(kind, ' ', i, ' ');
    put(out, texts[i]);
    out += '\n';
  }
}

template <class T>
void put_item(std::string& out, const char* kind, size_t number, const T& item) {
  out += kind;
  out += ' ';
  append_text(out, number);
  put_fields(out, item);
}

template <class T>
void put_items(std::string& out, const char* kind, const std::vector<T>& items) {
  for (size_t i = 0; i < items.size(); i++) put_item(out, kind, i, items[i]);
}

void put_regions(std::string& out, const std::vector<Region>& regions) {
  for (size_t i = 0; i < regions.size(); i++) {
    put_item(out, "region", i, regions[i]);
    for (const Plan& body : regions[i].bodies) {
      out += "body\n";
      std::string text = print_plan(body);
      for (std::string_view rest = text; !rest.empty();) {
        size_t end = rest.find('\n') + 1;
        out += "  ";
        out += rest.substr(0, end);
        rest.remove_prefix(end);
      }
      out += "end\n";
    }
  }
}

}  // namespace

std::string print_plan(const Plan& plan) {
  std::string out = "plan version=" + std::to_string(plan.version);
  Plan head;  // the version is always shown
  head.name = plan.name;
  head.draws = plan.draws;
  head.lower_bound_bytes = plan.lower_bound_bytes;
  put_fields(out, head);
  put_texts(out, "device", plan.devices);
  put_texts(out, "string", plan.strings);
  put_texts(out, "number", plan.numbers);
  put_items(out, "segment", plan.segments);
  put_items(out, "stream", plan.streams);
  put_items(out, "register", plan.registers);
  put_items(out, "value", plan.values);
  put_regions(out, plan.regions);
  for (size_t i = 0; i < plan.actors.size(); i++) {
    put_item(out, "actor", i, plan.actors[i]);
    for (const Launch& launch : plan.actors[i].launches) {
      out += "  launch";
      put_fields(out, launch);
    }
  }
  if (plan.seal != 0) {
    char hex[17];
    *std::to_chars(hex, hex + 16, plan.seal, 16).ptr = 0;
    out += cat("seal 0x", hex, '\n');
  }
  return out;
}

}  // namespace tw::plan

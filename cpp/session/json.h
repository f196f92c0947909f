// JSON, as much as heads of files need. Nesting is limited; of a key that stands twice the first counts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tw::session {

struct Json {
  enum class Kind { kNull, kBool, kNumber, kString, kList, kObject };
  Kind kind = Kind::kNull;
  std::string text;               // of a string; of a number as it is written; "true" or "false"
  std::vector<std::string> keys;  // of an object
  std::vector<Json> items;        // of a list or an object

  // The item under a key; null where the object has none, or this is none.
  const Json* find(std::string_view key) const;
  // What is named `what` as the kind it must be; throw kValue otherwise.
  const Json& at(std::string_view key, std::string_view what) const;
  const std::string& string(std::string_view what) const;
  const std::vector<Json>& list(std::string_view what) const;
  int64_t count(std::string_view what) const;  // an integer from 0 on
};

// Throws kValue with the place of what is wrong.
Json parse_json(std::string_view text);
// Appends `text` as a JSON string.
void append_json_string(std::string& out, std::string_view text);

}  // namespace tw::session

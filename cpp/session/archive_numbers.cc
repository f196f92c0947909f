#include "session/archive.h"
#include "session/formula.h"
#include "session/json.h"

namespace tw::session {

Numbers Numbers::parse(const std::string& text) {
  Json json = parse_json(text);
  Numbers numbers;
  numbers.json = text;
  for (const Json& name : json.at("names", "numbers").list("names"))
    numbers.names.push_back(name.string("a name"));
  for (const Json& value : json.at("values", "numbers").list("values"))
    numbers.values.push_back(evaluate_formula(value.string("a value"), {}));
  TW_CHECK(numbers.names.size() == numbers.values.size(), kValue, "numbers: ", numbers.names.size(),
           " names, but ", numbers.values.size(), " values");
  for (const Json& formula : json.at("graph", "numbers").list("graph"))
    numbers.graph.push_back(formula.string("a formula"));
  for (const Json& guard : json.at("guards", "numbers").list("guards")) {
    const auto& parts = guard.list("a guard");
    TW_CHECK(parts.size() == 2, kValue, "numbers: a guard must be a formula and its value");
    numbers.guards.emplace_back(parts[0].string("a formula"), parts[1].string("a value"));
  }
  for (const Json& update : json.at("updates", "numbers").list("updates")) {
    const auto& parts = update.list("an update");
    TW_CHECK(parts.size() == 2, kValue, "numbers: an update must be a number and a formula");
    int64_t number = parts[0].count("the number of an update");
    TW_CHECK(number < static_cast<int64_t>(numbers.names.size()), kValue, "numbers: there is no number ",
             number);
    numbers.updates.push_back({static_cast<int>(number), parts[1].string("a formula")});
  }
  numbers.check(numbers.values);
  numbers.of_graph(numbers.values);
  for (const Update& update : numbers.updates) evaluate_formula(update.formula, numbers.values);
  return numbers;
}

std::vector<Scalar> Numbers::of_graph(const std::vector<Scalar>& now) const {
  std::vector<Scalar> result;
  for (const std::string& formula : graph) result.push_back(evaluate_formula(formula, now));
  return result;
}

void Numbers::check(const std::vector<Scalar>& now) const {
  for (const auto& [formula, value] : guards) {
    Scalar wanted = evaluate_formula(value, {}), got = evaluate_formula(formula, now);
    // NaN, which equals nothing, is what it was.
    bool same =
        got == wanted || (got.to_double() != got.to_double() && wanted.to_double() != wanted.to_double());
    if (same) continue;
    std::string names_and_values;
    for (size_t i = 0; i < names.size(); i++)
      names_and_values += cat(i ? ", r[" : "r[", i, "] = ", names[i], " = ", now[i]);
    TW_FAIL(kValue, "the graph was saved for numbers with ", formula, " = ", wanted, ", got ", got, " with ",
            names_and_values);
  }
}

}  // namespace tw::session

// Changes every field of a plan, one at a time. Fields that say what is computed are left alone: a plan that
// adds where the other multiplied is as good a plan, and only the seal tells them apart.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plan/fields.h"

namespace tw::test {

using plan::Plan;

inline const std::set<std::string_view> kProgram = {
    "op",   "attrs", "inputs", "outputs", "starts", "mutated", "becomes", "when",
    "draw", "draws", "lifted", "dtype",   "sizes",  "length",  "reverse", "parts"};

// Of a view also: which part of the other value it shows is what a slice computes.
inline const std::set<std::string_view> kView = {"offset_bytes", "advance_bytes", "strides"};

// Changes of one field, tried one after the other on the plan itself.
template <class Try>
struct Mutator {
  Plan& plan;
  Try& attempt;

  template <class T, class Other>
  void set(T& field, Other value) {
    T before = field;
    field = static_cast<T>(value);
    if (!(field == before)) attempt();
    field = before;
  }
  template <class T>
    requires(std::is_integral_v<T>)
  void change(T& field) {
    for (int64_t by : {-64, -8, -4, -1, 1, 2, 4, 8, 64}) set(field, field + by);
    for (int64_t value : {int64_t{-1}, int64_t{0}, int64_t{1} << 20, INT64_MAX, INT64_MIN}) set(field, value);
  }
  template <class T>
    requires(std::is_enum_v<T> && !std::is_same_v<T, DType>)
  void change(T& field) {
    for (size_t i = 0; i <= names_of(field).size(); i++) set(field, i);
  }
  void change(std::string& field) {
    set(field, std::string());
    set(field, field + "x");
    set(field, std::string("\x01"));
  }
  template <class List>
    requires requires(List& list) { list.pop_back(); } && (!std::is_same_v<List, std::string>)
  void change(List& list) {
    for (size_t i = 0; i < list.size(); i++) {
      change(list[i]);
      List before = list;
      list.erase(list.begin() + i);
      attempt();
      list = before;
      list.push_back(before[i]);
      attempt();
      list = before;
    }
    List before = list;
    list.push_back({});
    attempt();
    list = before;
  }
  void change(DType&) {}
  void change(plan::Lifted&) {}

  template <class T>
  void fields(T& item) {
    plan::fields_of<T>([&](std::string_view name, auto member) {
      if (!kProgram.count(name) && !(is_view(item) && kView.count(name))) change(item.*member);
    });
  }
  static bool is_view(const plan::Value& value) { return value.storage >= 0; }
  template <class T>
  static bool is_view(const T&) {
    return false;
  }
  template <class T>
  void items(std::vector<T>& list) {
    for (T& item : list) fields(item);
  }
  void all() {
    fields(plan);
    change(plan.devices);
    items(plan.segments);
    items(plan.streams);
    items(plan.registers);
    items(plan.values);
    items(plan.actors);
    for (plan::Actor& actor : plan.actors) items(actor.launches);
    items(plan.regions);
    for (plan::Region& region : plan.regions)
      for (Plan& body : region.bodies) Mutator{body, attempt}.all();
  }
};

}  // namespace tw::test

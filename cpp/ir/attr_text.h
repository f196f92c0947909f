// Attributes in the text form of a graph, and when two of them are the same.
//
// Numbers are written in the shortest form that reads back to the same bits: 3 is an int, 3.0 a float, True a
// bool, (3.0-0.0j) a complex number; inf, -inf, nan, -0.0. Strings are quoted; what is neither printable
// ASCII nor valid UTF-8 is escaped. Dtypes go by name, lists in brackets, absent values as None. A lifted
// number is $0, followed by the value it had when the graph was made, where that is not 1: $0:0.001.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ir/attrs.h"

namespace tw::ir {

void print_string(std::string& out, std::string_view text);

// An item of an attribute that a lifted number stands for; item -1 is the attribute itself.
struct LiftedItem {
  int item;
  int number;
};
void print_attr(std::string& out, const AttrValue& value, std::span<const LiftedItem> lifted = {});

// Equal bit by bit, so that -0.0 is not 0.0; one NaN equals another.
bool same_attr(const AttrValue& a, const AttrValue& b);
size_t hash_attr(const AttrValue& value);  // the same for the same attributes

}  // namespace tw::ir

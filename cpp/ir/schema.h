// The signature of an op, parsed from text such as
//   gelu(Tensor input, *, str approximate="none") -> Tensor
//   topk(Tensor input, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor
//   indices)
//
// Types: Tensor, Tensor?, Tensor[], Tensor?[], bool, int, float, str, Scalar, dtype, int[], float[], int[N]
// (one int stands for N of them), each attribute type with ? where None is allowed. `int[]... size` also
// takes its ints as separate arguments. What follows `*` is keyword-only. Defaults are Python literals.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/attrs.h"

namespace tw::ir {

enum class ParamKind : uint8_t { kTensor, kTensorList, kAttr };

struct Param {
  std::string name;
  std::string type_text;
  ParamKind kind = ParamKind::kAttr;
  bool optional = false;  // None is allowed (for lists: as an item)
  bool keyword_only = false;
  bool variadic = false;  // int[]...
  int repeat = 0;         // int[N]
  bool has_default = false;
  AttrValue default_value;  // of an attribute; an optional tensor's default is always None
  int tensor_index = -1;    // counts tensor parameters
  AttrKind attr_kind = AttrKind::kInt;
  FieldType field{};  // of an attribute
};

struct Schema {
  std::string text;
  std::string name;
  std::vector<Param> params;
  std::vector<std::string> outputs;  // "result" when there is one without a name
  int tensor_count = 0;              // tensor parameters
  bool has_lists = false;
};

Schema parse_schema(std::string_view text);  // throws kInternal on a malformed text

}  // namespace tw::ir

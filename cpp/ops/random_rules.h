// What definitions of random ops share: the hidden parameter `float[] _part=[]`, a RandomPart.
#pragma once

#include "ir/infer.h"
#include "ir/op_def.h"
#include "ir/registry.h"
#include "ops/random_part.h"

namespace tw::ops {

// For `localize`: output 0 is drawn as the part that it is, of a whole that may be a part itself.
template <auto kPart>
void draws_output_part(ir::ShardContext& c) {
  if (c.outputs[0] == c.whole_outputs[0]) return;
  RandomPart& part = c.attrs<typename ir::detail::Member<decltype(kPart)>::Struct>().*kPart;
  Dims first = c.first_outputs[0], whole = c.whole_outputs[0];
  for (size_t d = 0; !part.empty() && d < first.size(); d++) {
    first[d] += first_index(part, d);
    whole[d] = whole_size(part, d);
  }
  part = random_part(first, whole);
}

inline void check_part(const RandomPart& part, const Dims& sizes, const char* op) {
  bool fits = part.empty() || part.size() == 2 * sizes.size();
  for (size_t d = 0; fits && !part.empty() && d < sizes.size(); d++)
    fits = first_index(part, d) >= 0 && first_index(part, d) + sizes[d] <= whole_size(part, d);
  TW_CHECK(fits, kValue, op, ": _part: shape ", sizes,
           " is no part of a whole as its first element and sizes say: ", part);
}

}  // namespace tw::ops

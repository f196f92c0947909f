// Where a part of a tensor of random numbers lies in the whole, so that it takes the words that its elements
// take there.
#pragma once

#include <vector>

#include "base/dims.h"

namespace tw::ops {

// The attribute: the index of the part's first element, then the sizes of the whole; empty where a tensor is
// the whole. Floats, because a list of ints would make attributes too large to lie inside an AttrBox.
using RandomPart = std::vector<double>;

inline RandomPart random_part(const Dims& first, const Dims& whole) {
  RandomPart part(first.begin(), first.end());
  part.insert(part.end(), whole.begin(), whole.end());
  return part;
}

inline int64_t first_index(const RandomPart& part, size_t dim) { return static_cast<int64_t>(part[dim]); }
inline int64_t whole_size(const RandomPart& part, size_t dim) {
  return static_cast<int64_t>(part[part.size() / 2 + dim]);
}

}  // namespace tw::ops

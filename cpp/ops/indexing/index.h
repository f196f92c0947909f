// The attributes of index and its kin, and the rule that places advanced indices in the result.
#pragma once

#include <span>

#include "base/dims.h"
#include "base/error.h"

namespace tw::ops {

struct IndexPutAttrs {
  bool accumulate;  // add to what is there, repeated indices included, instead of overwriting it
};

struct IndexBackwardAttrs {
  IntList input_size;
};

// Integer indices replace the dims they stand for by the dims of their common (broadcast) shape: in place
// where the indexed dims are neighbours, in front of everything else where they are not. NumPy's rule.
struct IndexLayout {
  Dims broadcast;  // shape of the indices together
  Dims before;     // dims of the input taken whole that come before it in the result
  Dims after;      // and after it
  Dims sizes;      // of the result
};

// `indices[d]` is the shape of the index of input dim d, null where the dim is taken whole; may be shorter
// than `input`.
inline IndexLayout index_layout(const Dims& input, std::span<const Dims* const> indices, const char* op) {
  TW_CHECK(indices.size() <= input.size(), kIndex, op, ": too many indices for a tensor of shape ", input,
           ": got ", indices.size());
  IndexLayout layout;
  int64_t first = -1, last = -1, count = 0;
  for (size_t d = 0; d < indices.size(); d++) {
    if (!indices[d]) continue;
    layout.broadcast = count == 0 ? *indices[d] : broadcast_sizes(layout.broadcast, *indices[d], op);
    if (count++ == 0) first = static_cast<int64_t>(d);
    last = static_cast<int64_t>(d);
  }
  bool adjacent = last - first + 1 == count;
  for (int64_t d = 0; d < static_cast<int64_t>(input.size()); d++) {
    if (d < static_cast<int64_t>(indices.size()) && indices[d]) continue;
    (adjacent && d < first ? layout.before : layout.after).push_back(d);
  }
  for (int64_t d : layout.before) layout.sizes.push_back(input[d]);
  layout.sizes.append(layout.broadcast.begin(), layout.broadcast.end());
  for (int64_t d : layout.after) layout.sizes.push_back(input[d]);
  return layout;
}

}  // namespace tw::ops

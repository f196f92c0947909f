// How an op splits into rows: which of its operands have them, and which are the same for all rows.
#pragma once

#include "ir/graph.h"

namespace tw::passes {

// The rows of a group: all of its ops have them. Up to three dims count as [rows, columns]; with more,
// the first is the rows, since such tensors may lie channels-last.
struct RowSpace {
  Dims sizes;
  int64_t rows = 0;
  bool folded = false;  // the leading dims are one

  explicit RowSpace(const Dims& shape);
  // The shape of an operand in the body; false where it is neither cut into these rows nor the same for all.
  bool shape_of(const Dims& operand, Dims* body) const;
  bool operator==(const RowSpace& other) const {
    return folded && other.folded ? rows == other.rows && sizes.back() == other.sizes.back()
                                  : sizes == other.sizes;
  }
};

// What a value is another shape of, of the same rows: to a folded group they are one.
const ir::Value& row_source(const ir::Value& value);

enum class RowRole { kNone, kPointwise, kWithinRows, kSum };

// kWithinRows: norms and softmax over the last dim, and their gradients. kSum: over all rows; nothing else of
// a group may read it.
RowRole row_role(const ir::Node& node);
// The shape that a node works on: that of the result, or of what is summed.
const Dims& worked_on(const ir::Node& node, RowRole role);

}  // namespace tw::passes

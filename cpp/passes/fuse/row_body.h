// The body of a by_rows node: a group's ops as a graph of their own, on [rows, columns].
#pragma once

#include <memory>

#include "base/function_ref.h"
#include "passes/fuse/row_space.h"

namespace tw::passes {

struct RowGroup {
  RowSpace space;
  std::vector<ir::Node*> nodes;  // in the order of the graph
};

struct RowBody {
  std::unique_ptr<ir::Graph> graph;
  std::vector<ir::Value> inputs, outputs;  // that the body's stand for
  IntList over;                            // as in ByRowsAttrs
};

// A sum over rows: no row of it is known before all have been seen.
bool is_row_sum(const ir::Node& node, int output);

// `leaves` says which values are read outside of the group.
RowBody make_row_body(const RowGroup& group, FunctionRef<bool(const ir::ValueImpl*)> leaves);

}  // namespace tw::passes

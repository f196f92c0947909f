// What a value's place says about another one's: windows that view ops make of it, and strides of results.
#pragma once

#include "planner/memory.h"

namespace tw::planner {

bool same(const ir::Geometry& a, const ir::Geometry& b);

ir::Geometry row_major(const Dims& sizes);

// The window of `input` that is the view op's result, into `geometry`, whose sizes the caller has set; false
// where none is.
bool see_window(const ir::Node& node, const Place& input, ir::Geometry* geometry);

// Strides of a fresh result of the step, as eager mode would choose them.
Dims result_strides(const Step& step, const ir::GraphValue& value);

}  // namespace tw::planner

// Runs the body of a by_rows node: its kernels one after the other on a tile of rows, then on the next tile.
// Tiles are so small that what one kernel hands to the next stays in the second-level cache. Threads share
// the tiles.
#pragma once

#include <memory>

#include "ir/graph.h"
#include "runtime/kernel_source.h"

namespace tw::session {

std::unique_ptr<runtime::LaunchKernel> make_row_kernel(const ir::Node& node);

}  // namespace tw::session

// Blocks for the tests of packers: random ones, and such as training steps make.
#pragma once

#include <algorithm>
#include <vector>

#include "planner/packing/packing.h"
#include "planner/packing/random.h"

namespace tw::planner {

inline std::vector<Block> random_blocks(Random& random, int64_t count, int64_t steps, int64_t most_bytes) {
  std::vector<Block> blocks(static_cast<size_t>(count));
  for (Block& b : blocks) {
    const auto one = static_cast<int32_t>(random.below(steps));
    const auto other = static_cast<int32_t>(random.below(steps));
    b.first = std::min(one, other);
    b.last = std::max(one, other);
    b.size_bytes = 1 + random.below(most_bytes);
  }
  return blocks;
}

// A training step of `layers` layers. Forward, layer i makes activations that live until its backward, and
// scratch that does not. Backward takes the gradient of its output, makes that of its input and of its
// weights; these live until the optimizer's step at the end, where each needs scratch. Layers of every third
// size are joined by a skip connection.
inline std::vector<Block> training_blocks(Random& random, int32_t layers, int64_t alignment = 64) {
  std::vector<Block> blocks;
  const int32_t turn = 3 * layers, end = 6 * layers;
  const auto add = [&](int32_t first, int32_t last, int64_t bytes) {
    blocks.push_back({.size_bytes = bytes, .first = first, .last = last, .alignment = alignment});
  };
  for (int32_t i = 0; i < layers; ++i) {
    const int32_t forward = 3 * i, backward = turn + 3 * (layers - 1 - i);
    const int64_t width = 1000 * (1 + random.below(64));
    add(forward, backward + 1, 4 * width);                                 // the layer's input, saved
    add(forward + 1, backward, 4 * width * (1 + random.below(3)));         // what its activation saved
    add(forward, forward + 1, 4 * width * (1 + random.below(8)));          // scratch
    add(forward + 2, backward, 4 + random.below(100));                     // statistics
    add(backward - 1, backward + 3, 4 * width);                            // the gradient of its output
    add(backward, backward + 1, 4 * width * (1 + random.below(4)));        // scratch
    add(backward + 1, end + i, width * (1 + random.below(10)));            // the gradient of its weights
    add(end + i, end + i, width * (1 + random.below(10)));                 // the optimizer's scratch
    if (i % 3 == 0) add(forward, std::min(forward + 12, end), 4 * width);  // a skip connection
  }
  return blocks;
}

// A rectangle of `bytes` over `steps`, cut into `count` blocks: they fit into `bytes` again, without any gap.
inline std::vector<Block> cut_blocks(Random& random, int64_t count, int32_t steps, int64_t bytes) {
  std::vector<Block> blocks = {{.size_bytes = bytes, .first = 0, .last = steps - 1}};
  while (static_cast<int64_t>(blocks.size()) < count) {
    Block& b = blocks[static_cast<size_t>(random.below(static_cast<int64_t>(blocks.size())))];
    Block other = b;
    if (random.below(2) == 0 && b.last > b.first) {
      b.last = b.first + static_cast<int32_t>(random.below(b.last - b.first));
      other.first = b.last + 1;
    } else if (b.size_bytes > 1) {
      b.size_bytes = 1 + random.below(b.size_bytes - 1);
      other.size_bytes -= b.size_bytes;
    } else {
      continue;
    }
    blocks.push_back(other);
  }
  return blocks;
}

}  // namespace tw::planner

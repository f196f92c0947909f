// What devices and the links between them can do: where costs of search and simulation come from.
#pragma once

namespace tw::machine {

struct Machine {
  double flops_per_second = 5e10;
  double memory_bytes_per_second = 1e10;
  // A second that a byte is held for is worth as much time as this many bytes read or written: of two ways
  // that take equally long, the one that holds less is better.
  double held_byte_weight = 0.25;
};

}  // namespace tw::machine

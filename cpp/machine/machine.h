// What devices and the links between them can do: where costs of search and simulation come from.
#pragma once

namespace tw::machine {

struct Machine {
  double flops_per_second = 5e10;
  double memory_bytes_per_second = 1e10;
  // What a boxing that sends anything takes beyond sbp::LinkModel: posting it, hearing of its end, waiting
  // for others; and for every byte that a device sends.
  double meeting_seconds = 0, meeting_seconds_per_byte = 0;
  // A second that a byte is held for is worth as much time as this many bytes read or written: of two ways
  // that take equally long, the one that holds less is better.
  double held_byte_weight = 0.25;
};

// Ranks of several processes, on cores of one machine: an all-reduce takes 10 µs, and moves 5 GB/s.
inline constexpr Machine kProcesses{.meeting_seconds = 10e-6, .meeting_seconds_per_byte = 1e-10};

}  // namespace tw::machine

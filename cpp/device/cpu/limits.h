// What the machine and the cgroups around the process allow it to use.
#pragma once

#include <cstdint>

namespace tw::device {

// The cores in the affinity mask, limited by the CPU quota of the cgroups (v1 and v2) around the process; at
// least 1.
int usable_cores();

// Physical memory and swap, limited by the memory limits of the cgroups around the process.
int64_t usable_memory_bytes();

}  // namespace tw::device

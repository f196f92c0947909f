// How many cores this process may use.
#pragma once

namespace tw::device {

// The cores in the affinity mask, limited by the CPU quota of the cgroups (v1 and v2) around the process; at
// least 1.
int usable_cores();

}  // namespace tw::device

// Into how many devices the one CPU is cut.
#pragma once

namespace tw::device {

// What Backend::device_count() of the CPU returns from now on. Throws kValue below 1 and above 256. Memory of
// devices that no longer count stays valid.
void set_cpu_device_count(int count);

}  // namespace tw::device

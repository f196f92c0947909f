// What went wrong on a device while nobody waited for it, told to the next who does.
#pragma once

#include <string>

namespace tw::cuda {

// Work that was queued has been given up, and what it should have written is not there. The first stays.
void note_failure(const std::string& reason);
// Throws kComm with it, once, or what kernels have found wrong (common/mistakes.h). Host code calls this when
// it has waited for a device.
void check_failures();
// Whoever waited for that work has been told.
void forget_failure(const std::string& reason);

}  // namespace tw::cuda

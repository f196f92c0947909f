// Whether there is UCX, and where: the wheel that the extra `cluster` installs, or the library that the
// environment variable THALWEG_UCX names (one built for the cards of a cluster; the wheel's knows TCP alone).
#pragma once

#include <cstdint>
#include <string>

namespace tw::comm {

// Where the wheel's libucp.so.0 lies; empty where there is none. Before the job begins.
void set_ucx_library(const std::string& path);
// Empty, or the sentence that says why there is no UCX here. Loads it.
std::string why_no_ucx();
// Major, minor and patch as one number; 0 without UCX. Processes of different versions do not talk over UCX.
uint32_t ucx_version();

}  // namespace tw::comm

#pragma once

namespace tw::cuda {

// From now on groups of ranks with GPUs are made here.
void register_groups();

}  // namespace tw::cuda

// The two entries of the generated manifest: every definition and every CPU kernel of this folder.
#pragma once

#include "device/kernel.h"
#include "ir/registry.h"

namespace tw::ops {

void define_all(ir::OpRegistry& registry);
void register_cpu_kernels(device::KernelTable& table);

}  // namespace tw::ops

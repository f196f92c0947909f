// A program runs the body itself, with the kernels of its ops (session/row_program.h); there is no other way.
#include "base/error.h"
#include "device/kernel.h"

namespace tw::ops {

void kernels_by_rows(device::KernelTable& table) {
  table.add("by_rows",
            [](device::KernelContext& k) { TW_FAIL(kInternal, k.op, ": it runs in programs only"); });
}

}  // namespace tw::ops

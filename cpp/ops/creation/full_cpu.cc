#include "device/cpu/loops.h"
#include "ops/creation/full.h"

namespace tw::ops {

using namespace device;

namespace {

void full_kernel(KernelContext& k) {
  dispatch_all(k.out().dtype, k.op, [&]<class T>() {
    auto value = k.attrs<FullAttrs>().fill_value.to<compute_t<T>>();
    nullary_loop<T>(k.out(), [value] { return value; });
  });
}

}  // namespace

void kernels_full(KernelTable& table) { table.add("full", full_kernel); }

}  // namespace tw::ops

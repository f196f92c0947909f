#include "device/cpu/cast.h"

namespace tw::ops {

using namespace device;

namespace {

void cast_kernel(KernelContext& k) { copy_cast(k.out(), k.in(0)); }
void copy_kernel(KernelContext& k) { copy_cast(k.out(), k.in(1)); }

}  // namespace

void kernels_cast(KernelTable& table) {
  table.add("cast", cast_kernel);
  table.add("clone", cast_kernel);
  table.add("row_major", cast_kernel);
  table.add("copy", copy_kernel);
}

}  // namespace tw::ops

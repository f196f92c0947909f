// One pass; floor: the bytes of the operands over the bandwidth. This file is compiled without contraction to
// fused multiply-adds (CMakeLists.txt), so that the product is rounded.
#include "device/cpu/loops.h"

namespace tw::ops {

using namespace device;

namespace {

void mul_add_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    ternary_loop<T, T, T, T>(k, [](C a, C b, C c) { return a * b + c; });
  });
}

}  // namespace

void kernels_mul_add(KernelTable& table) { table.add("mul_add", mul_add_kernel); }

}  // namespace tw::ops

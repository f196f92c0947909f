// Elements move as bytes of their size. One pass; floor: the operands' bytes over the bandwidth.
#include "device/cpu/cast.h"
#include "device/cpu/loops.h"

namespace tw::ops {

using namespace device;

namespace {

void choose(KernelContext& k, const Operand& condition, const Operand& yes, const Operand& no) {
  dispatch_bytes(k.out().dtype, [&]<class T>() {
    ternary_loop<bool, T, T, T>(k.out(), condition, yes, no,
                                [](bool take, T a, T b) { return take ? a : b; });
  });
}

void where_kernel(KernelContext& k) { choose(k, k.in(0), k.in(1), k.in(2)); }
void masked_fill_kernel(KernelContext& k) { choose(k, k.in(1), k.in(2), k.in(0)); }
void fill_kernel(KernelContext& k) { copy_cast(k.out(), k.in(1)); }

void zero_kernel(KernelContext& k) {
  dispatch_bytes(k.out().dtype, [&]<class T>() { nullary_loop<T>(k.out(), [] { return T{}; }); });
}

}  // namespace

void kernels_select_elements(KernelTable& table) {
  table.add("where", where_kernel);
  table.add("masked_fill", masked_fill_kernel);
  table.add("fill", fill_kernel);
  table.add("zero", zero_kernel);
}

}  // namespace tw::ops

// where, masked_fill, zero. Elements move as bytes of their size: the operands' bytes once. Floor: these over
// the bandwidth.
//
// Per element: 13 bytes and 1 operation (where, float32).
#include "cuda/common/pointwise.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

template <class T>
struct Choose {
  TW_DEVICE T operator()(bool take, T yes, T no) const { return take ? yes : no; }
};
template <class T>
struct Zero {
  TW_DEVICE T operator()() const { return T{}; }
};

void choose(KernelContext& k, const Operand& condition, const Operand& yes, const Operand& no) {
  dispatch_bytes(k.out().dtype, [&]<class T>() {
    pointwise_over(Types<T>{}, Types<bool, T, T>{}, {&k.out()}, {&condition, &yes, &no}, k.op, Choose<T>{});
  });
}

void where_kernel(KernelContext& k) { choose(k, k.in(0), k.in(1), k.in(2)); }
void masked_fill_kernel(KernelContext& k) { choose(k, k.in(1), k.in(2), k.in(0)); }

void zero_kernel(KernelContext& k) {
  dispatch_bytes(k.out().dtype,
                 [&]<class T>() { pointwise_over(Types<T>{}, Types<>{}, {&k.out()}, {}, k.op, Zero<T>{}); });
}

}  // namespace

void kernels_select_elements(device::KernelTable& table) {
  table.add("where", where_kernel);
  table.add("masked_fill", masked_fill_kernel);
  table.add("zero", zero_kernel);
}

}  // namespace tw::cuda

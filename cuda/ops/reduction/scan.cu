// prod_dim. Reads the input once; one product an element, halves in float, integers in int64 and around.
// Floor: the input's bytes over the bandwidth.
#include "ops/reduction/scan.h"

#include "cuda/common/reduce.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

template <class Acc>
struct Product {
  TW_DEVICE Acc none() const { return Acc(1); }
  template <class C>
  TW_DEVICE Acc map(C x) const {
    return static_cast<Acc>(x);
  }
  TW_DEVICE Acc combine(Acc a, Acc b) const {
    if constexpr (std::is_same_v<Acc, int64_t>)
      return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else
      return a * b;
  }
  TW_DEVICE Acc finish(Acc total) const { return total; }
};

template <class In, class Out>
void product(KernelContext& k, uint64_t mask) {
  using Acc = sum_t<Out>;
  reduce<In, Acc, Out>(k.in(0), k.out(), mask, k.op, Product<Acc>());
}

void prod_dim_kernel(KernelContext& k) {
  int64_t rank = k.in(0).rank();
  Dims dims = wrap_dims(IntList{k.attrs<ops::DimKeepDTypeAttrs>().dim}, rank, k.op);
  uint64_t mask = rank == 0 ? 0 : mask_of(dims, rank);
  DType in = k.in(0).dtype;
  if (in == k.out().dtype) return dispatch_real(in, k.op, [&]<class T>() { product<T, T>(k, mask); });
  dispatch_int_bool(in, k.op, [&]<class T>() { product<T, int64_t>(k, mask); });
}

}  // namespace

void kernels_scan(device::KernelTable& table) { table.add("prod_dim", prod_dim_kernel); }

}  // namespace tw::cuda

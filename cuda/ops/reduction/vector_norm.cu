// vector_norm of any order over any dims. Reads the input once; a few flops an element, for orders other than
// 0, 1, 2 and the infinite ones a power. Floor: the input's bytes over the bandwidth.
//
// Per element: 4 bytes and 2 operations (vector_norm, float32).
#include "cuda/common/functions.h"
#include "cuda/common/reduce.h"
#include "ops/reduction/norm_formula.h"
#include "ops/reduction/reduction.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

void vector_norm_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::VectorNormAttrs>();
  uint64_t mask = mask_of(a.dim ? wrap_dims(*a.dim, k.in(0).rank(), k.op) : Dims(), k.in(0).rank());
  dispatch_full_float(k.in(0).dtype, k.op, [&]<class T>() {
    // All threads take the same branches.
    reduce<T, T>(k.in(0), k.out(), mask, k.op,
                 ops::NormFormula<Functions, T>::of(a.ord, ops::norm_order(a.ord)));
  });
}

}  // namespace

void kernels_vector_norm(device::KernelTable& table) { table.add("vector_norm", vector_norm_kernel); }

}  // namespace tw::cuda

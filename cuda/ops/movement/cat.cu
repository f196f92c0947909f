// cat: each tensor is copied into its window of the result, a launch a tensor. Floor: every byte read and
// written once.
//
// Per element: 8 bytes and 0 operations (cat, float32).
#include "ops/movement/cat.h"

#include "cuda/common/copy.h"

namespace tw::cuda {

using device::Operand;

namespace {

void cat_kernel(device::KernelContext& k) {
  const Operand& out = k.out();
  int64_t dim = wrap_dim(k.attrs<ops::CatAttrs>().dim, out.rank(), k.op), start = 0;
  for (const Operand& x : k.list(0)) {
    if (x.count() == 0) continue;
    char* at = out.as<char>() + start * out.stride(dim) * size_of(out.dtype);
    copy_cast({at, x.sizes, out.strides, out.dtype}, x, k.op);
    start += x.size(dim);
  }
}

}  // namespace

void kernels_cat(device::KernelTable& table) { table.add("cat", cat_kernel); }

}  // namespace tw::cuda

// Each tensor is copied into its window of the result. Floor: every byte read and written once.
#include "device/cpu/cast.h"
#include "ops/movement/cat.h"

namespace tw::ops {

using namespace device;

namespace {

void cat_kernel(KernelContext& k) {
  const Operand& out = k.out();
  int64_t dim = wrap_dim(k.attrs<CatAttrs>().dim, out.rank(), k.op), start = 0;
  for (const Operand& x : k.list(0)) {
    if (x.count() == 0) continue;
    char* at = out.as<char>() + start * out.stride(dim) * size_of(out.dtype);
    copy_cast(Operand{at, x.sizes, out.strides, out.dtype}, x);
    start += x.size(dim);
  }
}

}  // namespace

void kernels_cat(KernelTable& table) { table.add("cat", cat_kernel); }

}  // namespace tw::ops

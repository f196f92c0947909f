// mm, bmm and broadcast_mm; see device/cpu/product.h.
#include "device/cpu/product.h"

namespace tw::ops {

using namespace device;

namespace {

void product_kernel(KernelContext& k) { matrix_product(k.out(), k.in(0), k.in(1)); }

}  // namespace

void kernels_matmul(KernelTable& table) {
  for (const char* op : {"mm", "bmm", "broadcast_mm"}) table.add(op, product_kernel);
}

}  // namespace tw::ops

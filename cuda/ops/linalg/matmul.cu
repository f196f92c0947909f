// mm, bmm, broadcast_mm through cuBLASLt. Bytes: the operands' once; 2·M·N·K flops. Floor: the larger of
// flops over the library's peak and bytes over the bandwidth. Where neither of an operand's last two strides
// is 1 it is copied first.
#include "cuda/common/product.h"

namespace tw::cuda {

namespace {

void product_kernel(device::KernelContext& k) { matrix_product(k.out(), k.in(0), k.in(1), k.op); }

}  // namespace

void kernels_matmul(device::KernelTable& table) {
  for (const char* op : {"mm", "bmm", "broadcast_mm"}) table.add(op, product_kernel);
}

}  // namespace tw::cuda

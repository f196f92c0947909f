// window_write: reads the input and src once and writes the result once; where the result lies in the input's
// own memory, only src moves. Floor: these bytes over the bandwidth.
//
// Per element: 8 bytes and 0 operations (window_write, float32).
#include "ops/view/window_write.h"

#include "cuda/common/copy.h"

namespace tw::cuda {

namespace {

void window_write_kernel(device::KernelContext& k) {
  const auto& a = k.attrs<ops::WindowWriteAttrs>();
  const device::Operand& out = k.out();
  if (out.data != k.in(0).data) copy_cast(out, k.in(0), k.op);
  copy_cast({out.as<char>() + a.offset * size_of(out.dtype), k.in(1).sizes, &a.stride, out.dtype}, k.in(1),
            k.op);
}

}  // namespace

void kernels_window_write(device::KernelTable& table) { table.add("window_write", window_write_kernel); }

}  // namespace tw::cuda

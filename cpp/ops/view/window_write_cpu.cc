// Reads the input and src once and writes the result once; where the result lies in the input's own memory,
// only src moves.
#include "ops/view/window_write.h"

#include "device/cpu/cast.h"

namespace tw::ops {

using namespace device;

namespace {

void window_write_kernel(KernelContext& k) {
  const auto& a = k.attrs<WindowWriteAttrs>();
  const Operand& out = k.out();
  if (out.data != k.in(0).data) copy_cast(out, k.in(0));
  Operand window{static_cast<char*>(out.data) + a.offset * size_of(out.dtype), k.in(1).sizes, &a.stride,
                 out.dtype};
  copy_cast(window, k.in(1));
}

}  // namespace

void kernels_window_write(KernelTable& table) { table.add("window_write", window_write_kernel); }

}  // namespace tw::ops

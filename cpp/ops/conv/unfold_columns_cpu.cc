// Image by image; see ops/columns_cpu.h. Floor: the bytes of input and output over the bandwidth.
#include "ops/conv/unfold_columns.h"

#include "device/cpu/contiguous.h"
#include "ops/columns_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

void unfold_kernel(KernelContext& k) {
  ConvGeometry g = window_geometry(k.attrs<ColumnsAttrs>(), *k.in(0).sizes);
  int64_t from = g.in_channels * g.in_positions(), to = g.in_channels * g.taps() * g.out_positions();
  dispatch_all(k.out().dtype, k.op, [&]<class T>() {
    Contiguous<T> input(k.in(0));
    for (int64_t i = 0; i < g.images; i++)
      gather_columns<T>(g, input.data() + i * from, k.out().as<T>() + i * to);
  });
}

void fold_kernel(KernelContext& k) {
  ConvGeometry g = window_geometry(k.attrs<FoldColumnsAttrs>(), *k.out().sizes);
  int64_t to = g.in_channels * g.in_positions(), from = g.in_channels * g.taps() * g.out_positions();
  dispatch_number(k.out().dtype, k.op, [&]<class T>() {
    Contiguous<T> input(k.in(0));
    for (int64_t i = 0; i < g.images; i++)
      scatter_columns<T>(g, input.data() + i * from, k.out().as<T>() + i * to);
  });
}

}  // namespace

void kernels_unfold_columns(KernelTable& table) {
  table.add("unfold_columns", unfold_kernel);
  table.add("fold_columns", fold_kernel);
}

}  // namespace tw::ops

// unfold_columns: the windows of images [N, C, H, W] as columns [N, C · K, P]; fold_columns adds columns back
// into images. Each is linear and the other's transpose.
#include "ops/conv/unfold_columns.h"

#include "ir/emitter.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

template <class A>
int64_t positions(const InferContext& c, const A& a, int64_t height, int64_t width, int64_t* taps) {
  int64_t result = 1, sizes[] = {height, width};
  *taps = 1;
  TW_CHECK(
      a.kernel_size.size() == 2 && a.dilation.size() == 2 && a.padding.size() == 2 && a.stride.size() == 2,
      kValue, c.op, ": two numbers each for kernel_size, dilation, padding and stride are wanted");
  for (int i = 0; i < 2; i++) {
    TW_CHECK(a.kernel_size[i] > 0 && a.dilation[i] > 0 && a.stride[i] > 0 && a.padding[i] >= 0, kRuntime,
             c.op, ": kernel_size, dilation and stride above 0 and padding of at least 0 are wanted, got ",
             a.kernel_size, ", ", a.dilation, ", ", a.stride, " and ", a.padding);
    int64_t room = sizes[i] + 2 * a.padding[i] - a.dilation[i] * (a.kernel_size[i] - 1) - 1;
    TW_CHECK(room >= 0, kRuntime, c.op, ": the window does not fit: image ", height, " x ", width,
             ", kernel_size ", a.kernel_size, ", dilation ", a.dilation, ", padding ", a.padding);
    result *= room / a.stride[i] + 1;
    *taps *= a.kernel_size[i];
  }
  return result;
}

void infer_unfold(InferContext& c) {
  const auto& a = c.attrs<ColumnsAttrs>();
  const auto& x = c.in(0);
  TW_CHECK(x.rank() == 4 && x.size(1) > 0 && x.size(2) > 0 && x.size(3) > 0, kRuntime, c.op,
           ": images [N, C, H, W] are wanted, got shape ", x.sizes);
  int64_t taps, count = positions(c, a, x.size(2), x.size(3), &taps);
  c.output(x.dtype, {x.size(0), x.size(1) * taps, count});
}

void infer_fold(InferContext& c) {
  const auto& a = c.attrs<FoldColumnsAttrs>();
  const auto& x = c.in(0);
  TW_CHECK(x.rank() == 3 && a.output_size.size() == 2, kRuntime, c.op,
           ": columns [N, C · K, P] and an output_size of two numbers are wanted, got shape ", x.sizes,
           " and ", a.output_size);
  int64_t taps, count = positions(c, a, a.output_size[0], a.output_size[1], &taps);
  TW_CHECK(x.size(1) > 0 && x.size(1) % taps == 0 && x.size(2) == count, kRuntime, c.op,
           ": columns of shape [N, C · ", taps, ", ", count, "] are wanted, got ", x.sizes);
  c.output(x.dtype, {x.size(0), x.size(1) / taps, a.output_size[0], a.output_size[1]});
}

void unfold_grad(GradContext& c) {
  const auto& a = c.attrs<ColumnsAttrs>();
  const Dims& x = c.input_meta(0).sizes;
  c.set(0, op<"fold_columns">(c.grad(), IntList{x[2], x[3]}, a.kernel_size, a.dilation, a.padding, a.stride));
}

void fold_grad(GradContext& c) {
  const auto& a = c.attrs<FoldColumnsAttrs>();
  c.set(0, op<"unfold_columns">(c.grad(), a.kernel_size, a.dilation, a.padding, a.stride));
}

void sbp_fold(sbp::RuleContext& c) {
  c.add({{sbp::split(0)}, {sbp::split(0)}});
  sbp::add_pending(c, {0});
}
void sbp_unfold(sbp::RuleContext& c) {
  c.add({{sbp::split(0)}, {sbp::split(0)}});
  sbp::add_moved(c);
}

}  // namespace

void define_unfold_columns(OpRegistry& r) {
  using A = ColumnsAttrs;
  using B = FoldColumnsAttrs;
  r.op("unfold_columns(Tensor input, int[] kernel_size, int[] dilation, int[] padding, int[] stride) -> "
       "Tensor",
       &A::kernel_size, &A::dilation, &A::padding, &A::stride)
      .doc("The windows of images as columns.")
      .infer(infer_unfold)
      .grad("", unfold_grad)
      .sbp(sbp_unfold)
      .cost(copy_cost);
  r.op("fold_columns(Tensor input, int[] output_size, int[] kernel_size, int[] dilation, int[] padding, "
       "int[] stride) "
       "-> Tensor",
       &B::output_size, &B::kernel_size, &B::dilation, &B::padding, &B::stride)
      .doc("Images that columns are added into.")
      .infer(infer_fold)
      .grad("", fold_grad)
      .sbp(sbp_fold)
      .cost(reduction_cost<1>);
}

}  // namespace tw::ops

// sort, topk, kthvalue, median_dim, nanmedian_dim, mode: values along a dim and where they stood.
//
// A NaN is larger than every number, whatever its sign bit: last in ascending order, first among the largest.
// Equal elements keep their order. The median of an even count is the lower of the middle two; a NaN makes it
// NaN, but nanmedian skips them.
#include "ops/ordering/sort.h"

#include "ops/reduction/along_dim.h"
#include "ops/reduction/selection.h"

namespace tw::ops {

using namespace ir;

namespace {

void check_real(InferContext& c) {
  TW_CHECK(!is_complex(c.in(0).dtype), kRuntime, c.op, ": complex numbers have no order, got ",
           c.in(0).dtype);
}

void give(InferContext& c, const Dims& sizes) {
  c.output(c.in(0).dtype, sizes);
  c.output(DType::kInt64, sizes);
}

void infer_sort(InferContext& c) {
  check_real(c);
  wrap_dim(c.attrs<SortAttrs>().dim, c.in(0).rank(), c.op);
  give(c, c.in(0).sizes);
}

void infer_topk(InferContext& c) {
  const auto& a = c.attrs<TopkAttrs>();
  const ValueImpl& x = c.in(0);
  check_real(c);
  int64_t dim = wrap_dim(a.dim, x.rank(), c.op), n = x.rank() == 0 ? 1 : x.size(dim);
  TW_CHECK(a.k >= 0 && a.k <= n, kRuntime, "topk: k must be in [0, ", n, "] for dim ", dim, ", got ", a.k);
  Dims sizes = x.sizes;
  if (x.rank() > 0) sizes[dim] = a.k;
  give(c, sizes);
}

void infer_kth(InferContext& c) {
  const auto& a = c.attrs<KthAttrs>();
  const ValueImpl& x = c.in(0);
  check_real(c);
  Dims sizes = selected_sizes(x, a.dim, a.keepdim, c.op);
  int64_t n = x.rank() == 0 ? 1 : x.size(wrap_dim(a.dim, x.rank(), c.op));
  TW_CHECK(a.k >= 1 && a.k <= n, kRuntime, "kthvalue: k must be in [1, ", n, "], got ", a.k);
  give(c, sizes);
}

void infer_selection(InferContext& c) {
  const auto& a = c.attrs<DimKeepAttrs>();
  check_real(c);
  give(c, selected_sizes(c.in(0), a.dim, a.keepdim, c.op));
}

template <class A>
void order_grad(GradContext& c) {
  if (c.grad()) c.set(0, add_at(c.grad(), c.output(1), c.input_meta(0).sizes, c.attrs<A>().dim));
}

}  // namespace

void define_sort(OpRegistry& r) {
  r.op("sort(Tensor input, int dim=-1, bool descending=False, bool stable=False) -> (Tensor values, Tensor "
       "indices)",
       &SortAttrs::dim, &SortAttrs::descending, &SortAttrs::stable)
      .doc("The elements in order along dim, and where each stood; equal ones keep their order.")
      .infer(infer_sort)
      .grad("indices", order_grad<SortAttrs>)
      .sbp(sbp_other_dims_of<SortAttrs>)
      .cost(pointwise_cost<40>)
      .expose(kFunction | kMethod);
  r.op("topk(Tensor input, int k, int dim=-1, bool largest=True, bool sorted=True)"
       " -> (Tensor values, Tensor indices)",
       &TopkAttrs::k, &TopkAttrs::dim, &TopkAttrs::largest, &TopkAttrs::sorted)
      .doc("The k largest or smallest elements along dim, the most extreme first, and where each stood.")
      .infer(infer_topk)
      .grad("indices", order_grad<TopkAttrs>)
      .sbp(sbp_other_dims_of<TopkAttrs>)
      .cost(reduction_cost<4>)
      .expose(kFunction | kMethod);
  r.op("kthvalue(Tensor input, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
       &KthAttrs::k, &KthAttrs::dim, &KthAttrs::keepdim)
      .doc("The k-th smallest element along dim, counted from 1, and where it stood.")
      .infer(infer_kth)
      .grad("indices", selection_grad<KthAttrs>)
      .sbp(sbp_selection<KthAttrs>)
      .cost(reduction_cost<4>)
      .expose(kFunction | kMethod);
  r.op("median_dim(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
       &DimKeepAttrs::dim, &DimKeepAttrs::keepdim)
      .doc("The lower median along dim and where it stood; NaN where there is one.")
      .infer(infer_selection)
      .grad("indices", selection_grad<DimKeepAttrs>)
      .sbp(sbp_selection<DimKeepAttrs>)
      .cost(reduction_cost<4>);
  r.op("nanmedian_dim(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
       &DimKeepAttrs::dim, &DimKeepAttrs::keepdim)
      .doc("The lower median along dim of what is not NaN, and where it stood.")
      .infer(infer_selection)
      .grad("indices", selection_grad<DimKeepAttrs>)
      .sbp(sbp_selection<DimKeepAttrs>)
      .cost(reduction_cost<4>);
  r.op("mode(Tensor input, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
       &DimKeepAttrs::dim, &DimKeepAttrs::keepdim)
      .doc("The most frequent element along dim (the smallest of such), and where it last stood.")
      .infer(infer_selection)
      .grad("indices", selection_grad<DimKeepAttrs>)
      .sbp(sbp_selection<DimKeepAttrs>)
      .cost(reduction_cost<40>)
      .expose(kFunction | kMethod);
}

}  // namespace tw::ops

// view_dtype: the same bytes read as another dtype. A wider one joins neighbours of the last dim, a narrower
// one takes elements apart. A view.
#include "base/dtype.h"
#include "ir/emitter.h"
#include "ops/movement/cast.h"

namespace tw::ops {

using namespace ir;

namespace {

// The view rule does not see the input's dtype: what it needs of it is the ratio of the last sizes.
void infer_view_dtype(InferContext& c) {
  const ValueImpl& x = c.in(0);
  DType to = c.attrs<CastAttrs>().dtype;
  int from_size = size_of(x.dtype), to_size = size_of(to);
  Dims sizes = x.sizes;
  if (from_size != to_size) {
    TW_CHECK(!sizes.empty(), kRuntime, "view: a 0-dim tensor of dtype ", x.dtype, " cannot be seen as ", to);
    int64_t bytes = sizes.back() * from_size;
    TW_CHECK(bytes % to_size == 0, kRuntime, "view: a last dim of ", sizes.back(), " elements of dtype ",
             x.dtype, " does not hold a whole number of ", to);
    sizes.back() = bytes / to_size;
  }
  c.output(to, sizes);
}

bool view_view_dtype(const Geometry& input, const void*, Geometry* output) {
  output->offset = input.offset;
  output->strides = input.strides;
  if (input.sizes == output->sizes) return true;
  int64_t from = input.sizes.back(), to = output->sizes.back();
  TW_CHECK(from != 0, kRuntime, "view: the last dim must not be empty to be seen as a dtype of another size");
  TW_CHECK(input.strides.back() == 1, kRuntime,
           "view: the last dim must lie densely to be seen as a dtype of another "
           "size, its stride is ",
           input.strides.back());
  auto scaled = [&](int64_t value) {
    TW_CHECK(value * to % from == 0, kRuntime,
             "view: strides and offset must be whole numbers of the wider dtype, got ", input.strides,
             " and ", input.offset);
    return value * to / from;
  };
  output->offset = scaled(input.offset);
  for (size_t i = 0; i + 1 < output->strides.size(); i++) output->strides[i] = scaled(input.strides[i]);
  return true;
}

}  // namespace

void define_view_dtype(OpRegistry& r) {
  r.op("view_dtype(Tensor input, dtype dtype) -> Tensor", &CastAttrs::dtype)
      .doc("The same bytes seen as another dtype.")
      .infer(infer_view_dtype)
      .view(view_view_dtype)
      .no_grad("the bits of a number are no differentiable function of it")
      .sbp(sbp::broadcast_only)  // cut points of the last dim would have to scale
      .cost(free_cost);
}

}  // namespace tw::ops

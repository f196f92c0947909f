// vector_norm: (Σ |x|^ord)^(1/ord) over some dims, of float32 and float64; ord = ±inf: the largest or
// smallest |x|; ord = 0: the number of nonzeros. linalg.vector_norm, linalg.norm, norm and dist are made of
// it.
#include <cmath>

#include "ops/reduction/reduced_shape.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_vector_norm(InferContext& c) {
  const auto& a = c.attrs<VectorNormAttrs>();
  const ValueImpl& x = c.in(0);
  TW_CHECK(x.dtype == DType::kFloat32 || x.dtype == DType::kFloat64, kRuntime, c.op,
           ": float32 or float64 is wanted, got ", x.dtype);
  if (a.ord < 0 || std::isinf(a.ord)) {
    for (int64_t dim : reduced_dims(a.dim, x.rank(), c.op))
      TW_CHECK(x.rank() == 0 || x.size(dim) > 0, kRuntime, c.op, ": ord ", a.ord,
               " has no value over the empty dim ", dim, ": input is ", x.sizes);
  }
  c.output(x.dtype, reduced_sizes(x.sizes, a.dim, a.keepdim, c.op));
}

Value zero_where(const Value& condition, const Value& value) {
  return op<"where">(condition, op<"full">(IntList(), 0, value->dtype), value);
}

void vector_norm_grad(GradContext& c) {
  const auto& a = c.attrs<VectorNormAttrs>();
  Value x = c.input(0);
  auto spread = [&](const Value& value) {
    return unreduce(value, x->sizes, a.dim, a.keepdim, "vector_norm");
  };
  if (a.ord == 0) return c.set(0, op<"full">(x->sizes, 0, x->dtype));
  if (a.ord == 1) return c.set(0, spread(c.grad()) * op<"sign">(x));
  Value norm = c.output();
  if (std::isinf(a.ord)) {
    Value hit = op<"cast">(op<"eq">(op<"abs">(x), spread(norm)), x->dtype);
    IntList dims = reduced_dims(a.dim, x->rank(), "vector_norm");
    Value ties = x->rank() == 0 ? hit : op<"sum">(hit, dims, true);
    return c.set(0, spread(c.grad()) * op<"sign">(x) * hit / ties);
  }
  // Where the norm is 0 the gradient is taken as 0, and nothing is divided, so that its own gradient is 0
  // too.
  Value flat = op<"eq">(norm, 0.0);
  norm = op<"where">(flat, op<"full">(IntList(), 1, norm->dtype), norm);
  if (a.ord == 2) return c.set(0, x * spread(zero_where(flat, c.grad() / norm)));
  Value size = op<"pow">(op<"abs">(x), a.ord - 1);
  if (a.ord < 1) size = zero_where(op<"eq">(x, 0.0), size);
  Value scale = zero_where(flat, c.grad() * op<"pow">(norm, 1 - a.ord));
  c.set(0, op<"sign">(x) * size * spread(scale));
}

void sbp_vector_norm(sbp::RuleContext& c) {
  const auto& a = c.attrs<VectorNormAttrs>();
  std::optional<sbp::ReduceOp> pending;
  if (a.ord == 0 || a.ord == 1) pending = sbp::ReduceOp::kSum;
  add_reduction_splits<VectorNormAttrs>(c, "vector_norm", pending);
}

}  // namespace

void define_vector_norm(OpRegistry& r) {
  r.op("vector_norm(Tensor input, float ord=2.0, int[]? dim=None, bool keepdim=False) -> Tensor",
       &VectorNormAttrs::ord, &VectorNormAttrs::dim, &VectorNormAttrs::keepdim)
      .doc("The norm of order ord over the given dims.")
      .infer(infer_vector_norm)
      .grad("input result", vector_norm_grad)
      .sbp(sbp_vector_norm)
      .cost(reduction_cost<2>);
}

}  // namespace tw::ops

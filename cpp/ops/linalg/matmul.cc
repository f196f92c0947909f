// mm and bmm, the matrix products that vendor libraries compute, and matmul, which brings every rank to them.
//
// broadcast_mm is bmm with leading dims of any number that broadcast: nothing expanded is ever copied.
//   matmul: [K]·[K] → [], [M,K]·[K] → [M], [K]·[K,N] → [N], [...,M,K]·[...,K,N] → [...,M,N] with leading dims
//   broadcast
#include "ops/linalg/product.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_mm(InferContext& c) {
  const auto &a = c.in(0), &b = c.in(1);
  TW_CHECK(a.rank() == 2 && b.rank() == 2, kRuntime, c.op, ": two matrices are wanted, got shapes ", a.sizes,
           " and ", b.sizes);
  TW_CHECK(a.size(1) == b.size(0), kRuntime, c.op, ": the inner sizes differ: input is ", a.sizes,
           ", mat2 is ", b.sizes);
  check_factors(a, b, c.op);
  c.output(a.dtype, {a.size(0), b.size(1)});
}

void infer_bmm(InferContext& c) {
  const auto &a = c.in(0), &b = c.in(1);
  TW_CHECK(a.rank() == 3 && b.rank() == 3, kRuntime, c.op,
           ": two batches of matrices are wanted, got shapes ", a.sizes, " and ", b.sizes);
  TW_CHECK(a.size(0) == b.size(0) && a.size(2) == b.size(1), kRuntime, c.op,
           ": batch or inner sizes differ: input is ", a.sizes, ", mat2 is ", b.sizes);
  check_factors(a, b, c.op);
  c.output(a.dtype, {a.size(0), a.size(1), b.size(2)});
}

Dims leading(const Dims& sizes) { return Dims(sizes.begin(), sizes.end() - 2); }

void infer_broadcast_mm(InferContext& c) {
  const auto &a = c.in(0), &b = c.in(1);
  TW_CHECK(a.rank() >= 2 && b.rank() >= 2 && a.size(-1) == b.size(-2), kRuntime, c.op,
           ": the inner sizes differ: input is ", a.sizes, ", other is ", b.sizes);
  check_factors(a, b, c.op);
  Dims sizes = broadcast_sizes(leading(a.sizes), leading(b.sizes), "matmul");
  sizes.push_back(a.size(-2));
  sizes.push_back(b.size(-1));
  c.output(a.dtype, sizes);
}

template <OpName kProduct>
void product_grad(GradContext& c) {
  if (c.needs(0)) c.set(0, op<kProduct>(c.grad(), adjoint(c.input(1))));
  if (c.needs(1)) c.set(1, op<kProduct>(adjoint(c.input(0)), c.grad()));
}

Dims without(const Dims& sizes, size_t dim) {
  Dims result = sizes;
  result.erase(result.begin() + dim);
  return result;
}

Values expand_matmul(const Values& inputs, const void*) {
  Value a = inputs[0], b = inputs[1];
  TW_CHECK(a->rank() > 0 && b->rank() > 0, kRuntime,
           "matmul: both inputs must have at least one dim, got shapes ", a->sizes, " and ", b->sizes);
  TW_CHECK(a->dtype == b->dtype, kRuntime, "matmul: both inputs must have one dtype, got ", a->dtype, " and ",
           b->dtype);
  int64_t inner = b->rank() == 1 ? b->size(0) : b->size(-2);
  TW_CHECK(a->size(-1) == inner, kRuntime, "matmul: the inner sizes differ: input is ", a->sizes,
           ", other is ", b->sizes);
  if (a->rank() == 2 && b->rank() == 2) return ops<"mm">(a, b);
  bool row = a->rank() == 1, column = b->rank() == 1;
  if (row) a = op<"unsqueeze">(a, 0);
  if (column) b = op<"unsqueeze">(b, 1);
  Value result;
  if (b->rank() == 2) {  // fold the leading dims of a into rows: one large product
    Dims sizes = a->sizes;
    Value rows =
        a->rank() == 2 ? a : op<"reshape">(a, IntList{numel(without(sizes, sizes.size() - 1)), inner});
    sizes.back() = b->size(1);
    result = op<"mm">(rows, b);
    if (result->sizes != sizes) result = op<"reshape">(result, sizes);
  } else {
    result = op<"broadcast_mm">(a, b);
  }
  if (row) result = op<"reshape">(result, without(result->sizes, result->rank() - 2));
  if (column) result = op<"reshape">(result, without(result->sizes, result->rank() - 1));
  return {result};
}

void sbp_mm(sbp::RuleContext& c) { sbp::add_einsum(c, "mk,kn->mn"); }
void sbp_bmm(sbp::RuleContext& c) { sbp::add_einsum(c, "bmk,bkn->bmn"); }

void sbp_broadcast_mm(sbp::RuleContext& c) {
  int64_t rank = static_cast<int64_t>(c.outputs[0].size());
  for (int64_t dim = 0; dim < rank - 2; dim++) c.add_aligned_split(dim);
  int64_t a = static_cast<int64_t>(c.inputs[0].size()), b = static_cast<int64_t>(c.inputs[1].size());
  c.add({{sbp::split(a - 2), sbp::broadcast()}, {sbp::split(rank - 2)}});
  c.add({{sbp::broadcast(), sbp::split(b - 1)}, {sbp::split(rank - 1)}});
  c.add({{sbp::split(a - 1), sbp::split(b - 2)}, {sbp::partial()}});
  c.add({{sbp::partial(), sbp::broadcast()}, {sbp::partial()}});
  c.add({{sbp::broadcast(), sbp::partial()}, {sbp::partial()}});
}

}  // namespace

void define_matmul(OpRegistry& r) {
  r.op("mm(Tensor input, Tensor mat2) -> Tensor")
      .doc("The product of two matrices.")
      .infer(infer_mm)
      .grad("input(mat2) mat2(input)", product_grad<"mm">)
      .autocast(Autocast::kLow)
      .sbp(sbp_mm)
      .cost(product_cost<>)
      .expose(kFunction | kMethod);
  r.op("bmm(Tensor input, Tensor mat2) -> Tensor")
      .doc("The products of two batches of matrices.")
      .infer(infer_bmm)
      .grad("input(mat2) mat2(input)", product_grad<"bmm">)
      .autocast(Autocast::kLow)
      .sbp(sbp_bmm)
      .cost(product_cost<>)
      .expose(kFunction | kMethod);
  r.op("broadcast_mm(Tensor input, Tensor other) -> Tensor")
      .doc("The products of two batches of matrices whose leading dims broadcast.")
      .infer(infer_broadcast_mm)
      .grad("input(other) other(input)", product_grad<"broadcast_mm">)
      .sbp(sbp_broadcast_mm)
      .cost(product_cost<>);
  r.op("matmul(Tensor input, Tensor other) -> Tensor")
      .doc("The matrix product of two tensors of any rank but 0; leading dims broadcast.")
      .expand(expand_matmul)
      .autocast(Autocast::kLow)
      .expose(kFunction | kMethod);
}

}  // namespace tw::ops

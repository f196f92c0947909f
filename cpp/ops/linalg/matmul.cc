// mm and bmm, the matrix products that vendor libraries compute, and matmul, which brings every rank to them.
//
//   matmul: [K]·[K] → [], [M,K]·[K] → [M], [K]·[K,N] → [N], [...,M,K]·[...,K,N] → [...,M,N] with leading dims broadcast
#include "ir/emitter.h"

namespace tw::ops {

using namespace ir;

namespace {

void check_product(InferContext& c, const ValueImpl& a, const ValueImpl& b) {
  TW_CHECK(a.dtype == b.dtype, kRuntime, c.op, ": both inputs must have one dtype, got ", a.dtype, " and ", b.dtype);
  TW_CHECK(!is_bool(a.dtype), kNotImplemented, c.op, ": dtype bool is not supported");
}

void infer_mm(InferContext& c) {
  const auto &a = c.in(0), &b = c.in(1);
  TW_CHECK(a.rank() == 2 && b.rank() == 2, kRuntime, c.op, ": two matrices are wanted, got shapes ", a.sizes, " and ",
           b.sizes);
  TW_CHECK(a.size(1) == b.size(0), kRuntime, c.op, ": the inner sizes differ: input is ", a.sizes, ", mat2 is ",
           b.sizes);
  check_product(c, a, b);
  c.output(a.dtype, {a.size(0), b.size(1)});
}

void infer_bmm(InferContext& c) {
  const auto &a = c.in(0), &b = c.in(1);
  TW_CHECK(a.rank() == 3 && b.rank() == 3, kRuntime, c.op, ": two batches of matrices are wanted, got shapes ",
           a.sizes, " and ", b.sizes);
  TW_CHECK(a.size(0) == b.size(0) && a.size(2) == b.size(1), kRuntime, c.op,
           ": batch or inner sizes differ: input is ", a.sizes, ", mat2 is ", b.sizes);
  check_product(c, a, b);
  c.output(a.dtype, {a.size(0), a.size(1), b.size(2)});
}

Value adjoint(const Value& matrix) { return conj(op<"transpose">(matrix, -2, -1)); }

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

// [..., M, K] → [batch, M, K] with leading dims expanded to `lead`.
Value as_batch(const Value& x, const Dims& lead, int64_t batch) {
  Dims full = lead;
  full.push_back(x->size(-2));
  full.push_back(x->size(-1));
  Value expanded = x->sizes == full ? x : op<"expand">(x, full);
  return op<"reshape">(expanded, IntList{batch, x->size(-2), x->size(-1)});
}

Dims leading(const Value& x) { return Dims(x->sizes.begin(), x->sizes.end() - 2); }

Values expand_matmul(const Values& inputs, const void*) {
  Value a = inputs[0], b = inputs[1];
  TW_CHECK(a->rank() > 0 && b->rank() > 0, kRuntime, "matmul: both inputs must have at least one dim, got shapes ",
           a->sizes, " and ", b->sizes);
  TW_CHECK(a->dtype == b->dtype, kRuntime, "matmul: both inputs must have one dtype, got ", a->dtype, " and ",
           b->dtype);
  int64_t inner = b->rank() == 1 ? b->size(0) : b->size(-2);
  TW_CHECK(a->size(-1) == inner, kRuntime, "matmul: the inner sizes differ: input is ", a->sizes, ", other is ",
           b->sizes);
  if (a->rank() == 2 && b->rank() == 2) return ops<"mm">(a, b);
  bool row = a->rank() == 1, column = b->rank() == 1;
  if (row) a = op<"unsqueeze">(a, 0);
  if (column) b = op<"unsqueeze">(b, 1);
  Value result;
  if (b->rank() == 2) {  // fold the leading dims of a into rows: one large product
    Dims sizes = a->sizes;
    Value rows = a->rank() == 2 ? a : op<"reshape">(a, IntList{a->count() / std::max<int64_t>(1, inner), inner});
    if (inner == 0) rows = op<"reshape">(a, IntList{numel(leading(a)) * a->size(-2), 0});
    sizes.back() = b->size(1);
    result = op<"mm">(rows, b);
    if (result->sizes != sizes) result = op<"reshape">(result, sizes);
  } else {
    Dims lead = broadcast_sizes(leading(a), leading(b), "matmul");
    int64_t batch = numel(lead);
    result = op<"bmm">(as_batch(a, lead, batch), as_batch(b, lead, batch));
    lead.push_back(a->size(-2));
    lead.push_back(b->size(-1));
    if (result->sizes != lead) result = op<"reshape">(result, lead);
  }
  if (row) result = op<"reshape">(result, without(result->sizes, result->rank() - 2));
  if (column) result = op<"reshape">(result, without(result->sizes, result->rank() - 1));
  return {result};
}

void sbp_mm(sbp::RuleContext& c) { sbp::add_einsum(c, "mk,kn->mn"); }
void sbp_bmm(sbp::RuleContext& c) { sbp::add_einsum(c, "bmk,bkn->bmn"); }

Cost product_cost(const CostContext& c) {
  return {2.0 * c.output_count() * static_cast<double>(c.inputs[0].sizes.back()), c.bytes(), 0};
}

}  // namespace

void define_matmul(OpRegistry& r) {
  r.op("mm(Tensor input, Tensor mat2) -> Tensor")
      .doc("The product of two matrices.")
      .infer(infer_mm)
      .grad("input(mat2) mat2(input)", product_grad<"mm">)
      .autocast(Autocast::kLow)
      .sbp(sbp_mm)
      .cost(product_cost)
      .expose(kFunction | kMethod);
  r.op("bmm(Tensor input, Tensor mat2) -> Tensor")
      .doc("The products of two batches of matrices.")
      .infer(infer_bmm)
      .grad("input(mat2) mat2(input)", product_grad<"bmm">)
      .autocast(Autocast::kLow)
      .sbp(sbp_bmm)
      .cost(product_cost)
      .expose(kFunction | kMethod);
  r.op("matmul(Tensor input, Tensor other) -> Tensor")
      .doc("The matrix product of two tensors of any rank but 0; leading dims broadcast.")
      .expand(expand_matmul)
      .autocast(Autocast::kLow)
      .expose(kFunction | kMethod);
}

}  // namespace tw::ops

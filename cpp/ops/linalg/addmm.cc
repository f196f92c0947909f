// beta · input + alpha · (a product): addmm and baddbmm, which BLAS computes in one go, and addmv, addbmm and
// addr, written with them. With beta = 0 what input holds (NaN too) does not count.
#include "ops/linalg/addmm.h"

#include "ops/linalg/product.h"

namespace tw::ops {

using namespace ir;

namespace {

const BetaAlphaAttrs& attrs_of(const void* attrs) { return *static_cast<const BetaAlphaAttrs*>(attrs); }

void infer_sum_of_product(InferContext& c, int64_t rank) {
  const auto &input = c.in(0), &a = c.in(1), &b = c.in(2);
  TW_CHECK(a.rank() == rank && b.rank() == rank, kRuntime, c.op, ": factors with ", rank,
           " dims are wanted, got shapes ", a.sizes, " and ", b.sizes);
  TW_CHECK(a.size(-1) == b.size(-2) && a.size(0) == (rank == 3 ? b.size(0) : a.size(0)), kRuntime, c.op,
           ": the sizes of the factors do not fit: ", a.sizes, " and ", b.sizes);
  check_factors(a, b, c.op);
  TW_CHECK(input.dtype == a.dtype, kRuntime, c.op, ": input and factors must have one dtype, got ",
           input.dtype, " and ", a.dtype);
  Dims sizes = a.sizes;
  sizes.back() = b.size(-1);
  TW_CHECK(input.rank() <= rank && broadcast_sizes(input.sizes, sizes, c.op) == sizes, kRuntime, c.op,
           ": input of shape ", input.sizes, " does not broadcast to the product's shape ", sizes);
  // As in PyTorch, addmm refuses what the others cut to whole numbers.
  for (const Scalar& factor : {c.attrs<BetaAlphaAttrs>().beta, c.attrs<BetaAlphaAttrs>().alpha})
    TW_CHECK(rank == 3 || factor.kind() <= kind_of(a.dtype), kRuntime, c.op,
             ": beta and alpha of the kind of dtype ", a.dtype, " are wanted, got ", factor);
  c.output(a.dtype, sizes);
}

void infer_addmm(InferContext& c) { infer_sum_of_product(c, 2); }
void infer_baddbmm(InferContext& c) { infer_sum_of_product(c, 3); }

Value scaled(const Value& value, const Scalar& factor) {
  if (factor.to_complex() == complex128(1, 0)) return value;
  if (factor.kind() == DTypeKind::kComplex) return op<"mul">(value, Scalar(std::conj(factor.to_complex())));
  return op<"mul">(value, factor);
}

template <OpName kProduct>
void sum_of_product_grad(GradContext& c) {
  const auto& a = c.attrs<BetaAlphaAttrs>();
  if (c.needs(0)) c.set(0, scaled(c.grad(), a.beta));
  if (c.needs(1)) c.set(1, scaled(op<kProduct>(c.grad(), adjoint(c.input(2))), a.alpha));
  if (c.needs(2)) c.set(2, scaled(op<kProduct>(adjoint(c.input(1)), c.grad()), a.alpha));
}

// Aligned splits of the result; a contracted split leaves a pending sum, to which input must come as one too.
void sbp_sum_of_product(sbp::RuleContext& c) {
  int64_t rank = static_cast<int64_t>(c.outputs[0].size());
  auto input_split = [&](int64_t dim) {
    int64_t own = dim - (rank - static_cast<int64_t>(c.inputs[0].size()));
    return own >= 0 && c.inputs[0][own] == c.outputs[0][dim] ? sbp::split(own) : sbp::broadcast();
  };
  if (rank == 3) c.add({{input_split(0), sbp::split(0), sbp::split(0)}, {sbp::split(0)}});
  c.add({{input_split(rank - 2), sbp::split(rank - 2), sbp::broadcast()}, {sbp::split(rank - 2)}});
  c.add({{input_split(rank - 1), sbp::broadcast(), sbp::split(rank - 1)}, {sbp::split(rank - 1)}});
  c.add({{sbp::partial(), sbp::split(rank - 1), sbp::split(rank - 2)}, {sbp::partial()}});
  c.add({{sbp::partial(), sbp::partial(), sbp::broadcast()}, {sbp::partial()}});
  c.add({{sbp::partial(), sbp::broadcast(), sbp::partial()}, {sbp::partial()}});
}

Scalar fitting(const Scalar& factor, DType dtype) {
  return kind_of(dtype) <= DTypeKind::kInt ? Scalar(factor.to_int()) : factor;
}

Value column(const Value& x) {
  return x->rank() == 0 ? op<"reshape">(x, IntList{1, 1}) : op<"unsqueeze">(x, -1);
}

Values expand_addmv(const Values& in, const void* attrs) {
  const auto& a = attrs_of(attrs);
  TW_CHECK(in[1]->rank() == 2 && in[2]->rank() == 1 && in[0]->rank() <= 1, kRuntime,
           "addmv: a vector, a matrix and a vector are wanted, got shapes ", in[0]->sizes, ", ", in[1]->sizes,
           " and ", in[2]->sizes);
  Value sum = op<"addmm">(column(in[0]), in[1], column(in[2]), fitting(a.beta, in[1]->dtype),
                          fitting(a.alpha, in[1]->dtype));
  return {op<"reshape">(sum, IntList{sum->size(0)})};
}

// Σ_b A[b] B[b] is one product over K = b · k.
Values expand_addbmm(const Values& in, const void* attrs) {
  const auto& a = attrs_of(attrs);
  const Value &x = in[1], &y = in[2];
  TW_CHECK(x->rank() == 3 && y->rank() == 3 && x->size(0) == y->size(0) && x->size(2) == y->size(1), kRuntime,
           "addbmm: two batches of matrices that fit are wanted, got shapes ", x->sizes, " and ", y->sizes);
  int64_t inner = x->size(0) * x->size(2);
  Value wide = op<"reshape">(op<"transpose">(x, 0, 1), IntList{x->size(1), inner});
  return {op<"addmm">(in[0], wide, op<"reshape">(y, IntList{inner, y->size(2)}), fitting(a.beta, x->dtype),
                      fitting(a.alpha, x->dtype))};
}

Values expand_addr(const Values& in, const void* attrs) {
  const auto& a = attrs_of(attrs);
  TW_CHECK(in[1]->rank() == 1 && in[2]->rank() == 1, kRuntime, "addr: two vectors are wanted, got shapes ",
           in[1]->sizes, " and ", in[2]->sizes);
  Value product = op<"mul">(op<"unsqueeze">(in[1], -1), in[2]);
  TW_CHECK(broadcast_sizes(in[0]->sizes, product->sizes, "addr") == product->sizes, kRuntime,
           "addr: input of shape ", in[0]->sizes, " does not broadcast to the product's shape ",
           product->sizes);
  DType common = promote(product->dtype, in[0]->dtype);
  // Among bools any factor but 0 is true.
  Scalar beta = is_bool(common) ? Scalar(a.beta.to_bool()) : a.beta;
  Scalar alpha = is_bool(common) ? Scalar(a.alpha.to_bool()) : a.alpha;
  if (!(alpha == Scalar(1))) product = op<"mul">(product, alpha);
  if (!beta.to_bool()) return {op<"cast">(product, common)};
  return {op<"add">(beta == Scalar(1) ? in[0] : op<"mul">(in[0], beta), product)};
}

}  // namespace

void define_addmm(OpRegistry& r) {
  constexpr unsigned everywhere = kFunction | kMethod | kInplace;
  r.op("addmm(Tensor input, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
       &BetaAlphaAttrs::beta, &BetaAlphaAttrs::alpha)
      .doc("beta * input + alpha * mat1 @ mat2.")
      .infer(infer_addmm)
      .grad("mat1(mat2) mat2(mat1)", sum_of_product_grad<"mm">)
      .autocast(Autocast::kLow)
      .sbp(sbp_sum_of_product)
      .cost(product_cost<1>)
      .expose(everywhere);
  r.op("baddbmm(Tensor input, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
       &BetaAlphaAttrs::beta, &BetaAlphaAttrs::alpha)
      .doc("beta * input + alpha * batch1 @ batch2, matrix by matrix.")
      .infer(infer_baddbmm)
      .grad("batch1(batch2) batch2(batch1)", sum_of_product_grad<"bmm">)
      .autocast(Autocast::kLow)
      .sbp(sbp_sum_of_product)
      .cost(product_cost<1>)
      .expose(everywhere);
  r.op("addmv(Tensor input, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
       &BetaAlphaAttrs::beta, &BetaAlphaAttrs::alpha)
      .doc("beta * input + alpha * mat @ vec.")
      .expand(expand_addmv)
      .expose(everywhere);
  r.op("addbmm(Tensor input, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
       &BetaAlphaAttrs::beta, &BetaAlphaAttrs::alpha)
      .doc("beta * input + alpha * the sum of the products batch1[i] @ batch2[i].")
      .expand(expand_addbmm)
      .expose(everywhere);
  r.op("addr(Tensor input, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
       &BetaAlphaAttrs::beta, &BetaAlphaAttrs::alpha)
      .doc("beta * input + alpha * the outer product of two vectors.")
      .expand(expand_addr)
      .expose(everywhere);
}

}  // namespace tw::ops

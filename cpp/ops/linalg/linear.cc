// linear: x[..., in] · W[out, in]ᵀ + b[out]. A weight of one dim gives a result without the last dim.
#include "ops/linalg/product.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_linear(InferContext& c) {
  const auto &x = c.in(0), &weight = c.in(1);
  TW_CHECK(weight.rank() == 1 || weight.rank() == 2, kRuntime, c.op,
           ": a weight [out, in] or [in] is wanted, got shape ", weight.sizes);
  TW_CHECK(x.rank() >= 1 && x.size(-1) == weight.size(-1), kRuntime, c.op,
           ": the inner sizes differ: input is ", x.sizes, ", weight is ", weight.sizes);
  check_factors(x, weight, c.op);
  Dims sizes(x.sizes.begin(), x.sizes.end() - 1);
  if (weight.rank() == 2) sizes.push_back(weight.size(0));
  if (c.has(2)) {
    TW_CHECK(c.in(2).dtype == x.dtype, kRuntime, c.op, ": input and bias must have one dtype, got ", x.dtype,
             " and ", c.in(2).dtype);
    TW_CHECK(c.in(2).rank() <= 1 && broadcast_sizes(c.in(2).sizes, sizes, c.op) == sizes, kRuntime, c.op,
             ": the bias of shape ", c.in(2).sizes, " does not fit the weight of shape ", weight.sizes);
  }
  c.output(x.dtype, sizes);
}

void linear_grad(GradContext& c) {
  const Dims &x = c.input_meta(0).sizes, &weight = c.input_meta(1).sizes;
  int64_t outputs = weight.size() == 2 ? weight[0] : 1, inputs = weight.back(), rows = 1;
  for (size_t dim = 0; dim + 1 < x.size(); dim++) rows *= x[dim];
  Value grad = op<"reshape">(c.grad(), IntList{rows, outputs});
  if (c.needs(0)) {
    Value matrix = op<"reshape">(c.input(1), IntList{outputs, inputs});
    c.set(0, op<"reshape">(op<"mm">(grad, conj(matrix)), x));
  }
  if (c.needs(1)) {
    Value flat = op<"reshape">(c.input(0), IntList{rows, inputs});
    Value product = op<"mm">(op<"transpose">(grad, 0, 1), conj(flat));
    c.set(1, weight.size() == 2 ? product : op<"reshape">(product, weight));
  }
  if (c.input_count() > 2 && c.needs(2)) c.set(2, op<"sum">(grad, IntList{0}));
}

// Pending sums go through all of them at once, the bias included.
void sbp_linear(sbp::RuleContext& c) {
  int64_t last = static_cast<int64_t>(c.inputs[0].size()) - 1;
  for (int64_t dim = 0; dim < last; dim++) c.add({{sbp::split(dim), {}, {}}, {sbp::split(dim)}});
  bool has_bias = c.present[2];
  sbp::Sbp bias =
      has_bias && c.inputs[2].size() == 1 && c.inputs[2][0] > 1 ? sbp::split(0) : sbp::broadcast();
  if (c.inputs[1].size() == 2) c.add({{{}, sbp::split(0), bias}, {sbp::split(last)}});
  sbp::Sbp pending = has_bias ? sbp::partial() : sbp::broadcast();
  int64_t inner = static_cast<int64_t>(c.inputs[1].size()) - 1;
  c.add({{sbp::split(last), sbp::split(inner), pending}, {sbp::partial()}});
  c.add({{sbp::partial(), {}, pending}, {sbp::partial()}});
  c.add({{{}, sbp::partial(), pending}, {sbp::partial()}});
}

}  // namespace

void define_linear(OpRegistry& r) {
  r.op("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor")
      .doc("input @ weight.T + bias.")
      .infer(infer_linear)
      .grad("input(weight) weight(input)", linear_grad)
      .autocast(Autocast::kLow)
      .sbp(sbp_linear)
      .cost(product_cost<>)
      .expose(kNnFunctional);
}

}  // namespace tw::ops

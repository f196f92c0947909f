// Tensors of random numbers: of the size and dtype of the input, whose values do not matter. In place they
// overwrite it.
//
// uniform in [from, to), complex numbers in both parts; normal by Box and Muller's transform, the parts of
// complex numbers with the mean and half the variance each; exponential, cauchy, geometric by the inverse of
// their distribution functions; log_normal = exp(normal); random_integers in [low, high); random_permutation
// of 0 ... n - 1. multinomial draws indices of rows of weights; without replacement by the order of
// exponential clocks -log(u) / weight. Element i takes the words that ops/random_words.h says.
#include "ops/random/distribution.h"

#include "ops/pointwise/rules.h"
#include "ops/random_rules.h"

namespace tw::ops {

using namespace ir;

namespace {

template <class A>
void infer_elements(InferContext& c) {
  check_part(c.attrs<A>().part, c.in(0).sizes, c.op);
  infer_same(c);
}

void infer_random(InferContext& c) {
  TW_CHECK(is_float(c.in(0).dtype), kNotImplemented, c.op, ": a floating dtype is wanted, got ",
           c.in(0).dtype);
  infer_elements<DistributionAttrs>(c);
}
// Complex numbers are drawn as pairs of real ones.
void infer_parts(InferContext& c) {
  if (is_complex(c.in(0).dtype))
    infer_elements<DistributionAttrs>(c);
  else
    infer_random(c);
}
void infer_uniform(InferContext& c) {
  const auto& a = c.attrs<DistributionAttrs>();
  TW_CHECK(a.a <= a.b, kRuntime, "uniform: from must not be above to, got ", a.a, " and ", a.b);
  infer_parts(c);
}
void infer_normal(InferContext& c) {
  TW_CHECK(c.attrs<DistributionAttrs>().b >= 0, kRuntime, c.op, ": std must not be negative, got ",
           c.attrs<DistributionAttrs>().b);
  infer_parts(c);
}
void infer_log_normal(InferContext& c) {
  TW_CHECK(c.attrs<DistributionAttrs>().b > 0, kRuntime, c.op, ": std must be positive, got ",
           c.attrs<DistributionAttrs>().b);
  infer_random(c);
}
void infer_exponential(InferContext& c) {
  TW_CHECK(c.attrs<DistributionAttrs>().a > 0, kRuntime, "exponential: lambd must be positive, got ",
           c.attrs<DistributionAttrs>().a);
  infer_random(c);
}
void infer_cauchy(InferContext& c) {
  TW_CHECK(c.attrs<DistributionAttrs>().b > 0, kRuntime, "cauchy: sigma must be positive, got ",
           c.attrs<DistributionAttrs>().b);
  infer_random(c);
}
void infer_geometric(InferContext& c) {
  double p = c.attrs<DistributionAttrs>().a;
  TW_CHECK(p > 0 && p < 1, kRuntime, "geometric: p must be in (0, 1), got ", p);
  TW_CHECK(!is_complex(c.in(0).dtype) && !is_bool(c.in(0).dtype), kNotImplemented,
           "geometric: an integer or floating dtype is wanted, got ", c.in(0).dtype);
  infer_elements<DistributionAttrs>(c);
}
void infer_integers(InferContext& c) {
  const auto& a = c.attrs<IntegerAttrs>();
  TW_CHECK(a.low < a.high, kRuntime, "random: the lower bound must be below the upper one, got ", a.low,
           " and ", a.high);
  TW_CHECK(!is_complex(c.in(0).dtype), kNotImplemented, "random: a real dtype is wanted, got ",
           c.in(0).dtype);
  infer_elements<IntegerAttrs>(c);
}
void infer_permutation(InferContext& c) {
  int64_t n = c.attrs<PermutationAttrs>().n;
  TW_CHECK(n >= 0, kRuntime, "randperm: n must not be negative, got ", n);
  c.output(DType::kInt64, {n});
}

void infer_multinomial(InferContext& c) {
  const auto& a = c.attrs<MultinomialAttrs>();
  const ValueImpl& weights = c.in(0);
  TW_CHECK(is_float(weights.dtype), kRuntime, "multinomial: a floating dtype is wanted, got ", weights.dtype);
  TW_CHECK(weights.rank() == 1 || weights.rank() == 2, kRuntime,
           "multinomial: weights of one or two dims are wanted, got shape ", weights.sizes);
  TW_CHECK(a.num_samples > 0, kRuntime, "multinomial: num_samples must be positive, got ", a.num_samples);
  TW_CHECK(a.replacement || a.num_samples <= weights.size(-1), kRuntime, "multinomial: cannot draw ",
           a.num_samples, " of ", weights.size(-1), " without replacement");
  Dims sizes = weights.sizes;
  sizes[sizes.size() - 1] = a.num_samples;
  check_part(a.part, sizes, c.op);
  c.output(DType::kInt64, sizes);
}

// Rows are drawn one by one.
void sbp_multinomial(sbp::RuleContext& c) {
  if (c.inputs[0].size() == 2) c.add({{sbp::split(0)}, {sbp::split(0)}});
}

OpBuilder finish(OpBuilder builder, const char* doc, InferFn infer, unsigned exposure) {
  return builder.doc(doc).infer(infer).cost(pointwise_cost<30>).expose(exposure);
}

// Elements are drawn one by one.
template <class A>
OpBuilder finish_elements(OpBuilder builder, const char* doc, InferFn infer, unsigned exposure = kInplace) {
  return finish(builder, doc, infer, exposure)
      .random(&A::key)
      .grad("", zero_grad)
      .sbp(sbp::elementwise)
      .localize(draws_output_part<&A::part>)
      .order(ResultOrder::kRowMajor);
}

}  // namespace

void define_distribution(OpRegistry& r) {
  using A = DistributionAttrs;
  finish_elements<A>(r.op("uniform(Tensor input, float from=0.0, float to=1.0, float[] _part=[]) -> Tensor",
                          &A::a, &A::b, &A::part),
                     "Numbers spread evenly over [from, to).", infer_uniform);
  finish_elements<A>(r.op("normal(Tensor input, float mean=0.0, float std=1.0, float[] _part=[]) -> Tensor",
                          &A::a, &A::b, &A::part),
                     "Normally distributed numbers.", infer_normal);
  finish_elements<A>(
      r.op("log_normal(Tensor input, float mean=1.0, float std=2.0, float[] _part=[]) -> Tensor", &A::a,
           &A::b, &A::part),
      "Exponentials of normally distributed numbers.", infer_log_normal);
  finish_elements<A>(
      r.op("exponential(Tensor input, float lambd=1.0, float[] _part=[]) -> Tensor", &A::a, &A::part),
      "Exponentially distributed numbers of rate lambd.", infer_exponential);
  finish_elements<A>(
      r.op("cauchy(Tensor input, float median=0.0, float sigma=1.0, float[] _part=[]) -> Tensor", &A::a,
           &A::b, &A::part),
      "Numbers of the Cauchy distribution.", infer_cauchy);
  finish_elements<A>(r.op("geometric(Tensor input, float p, float[] _part=[]) -> Tensor", &A::a, &A::part),
                     "How many trials of probability p it takes to succeed.", infer_geometric);
  finish_elements<IntegerAttrs>(
      r.op("random_integers(Tensor input, int low, int high, float[] _part=[]) -> Tensor", &IntegerAttrs::low,
           &IntegerAttrs::high, &IntegerAttrs::part),
      "Whole numbers spread evenly over [low, high).", infer_integers, kHidden);
  finish(r.op("random_permutation(int n) -> Tensor", &PermutationAttrs::n),
         "The numbers 0 to n - 1 in random order.", infer_permutation, kHidden)
      .random(&PermutationAttrs::key)
      .sbp(sbp::broadcast_only)  // one sequence of swaps
      .no_grad("it has no tensor inputs");
  finish(
      r.op("multinomial(Tensor input, int num_samples, bool replacement=False, float[] _part=[]) -> Tensor",
           &MultinomialAttrs::num_samples, &MultinomialAttrs::replacement, &MultinomialAttrs::part),
      "Indices drawn from rows of weights.", infer_multinomial, kFunction | kMethod)
      .random(&MultinomialAttrs::key)
      .sbp(sbp_multinomial)
      .localize(draws_output_part<&MultinomialAttrs::part>)
      .no_grad("indices have no gradient");
}

}  // namespace tw::ops

// Products with vectors, written with matrix products: mv, dot, vdot, inner, outer, ger.
#include "ops/linalg/product.h"

namespace tw::ops {

using namespace ir;

namespace {

void check_ranks(const Values& in, int64_t a, int64_t b, const char* op, const char* wanted) {
  TW_CHECK(in[0]->rank() == a && in[1]->rank() == b, kRuntime, op, ": ", wanted, " are wanted, got shapes ",
           in[0]->sizes, " and ", in[1]->sizes);
}

Values expand_mv(const Values& in, const void*) {
  check_ranks(in, 2, 1, "mv", "a matrix and a vector");
  TW_CHECK(in[0]->size(1) == in[1]->size(0), kRuntime, "mv: the inner sizes differ: input is ", in[0]->sizes,
           ", vec is ", in[1]->sizes);
  return {op<"reshape">(op<"mm">(in[0], op<"unsqueeze">(in[1], 1)), IntList{in[0]->size(0)})};
}

Value product_of_vectors(const Value& a, const Value& b, const char* name) {
  check_ranks({a, b}, 1, 1, name, "two vectors");
  TW_CHECK(a->size(0) == b->size(0), kRuntime, name, ": vectors of one length are wanted, got ", a->size(0),
           " and ", b->size(0));
  check_factors(*a, *b, name);
  return op<"reshape">(op<"mm">(op<"unsqueeze">(a, 0), op<"unsqueeze">(b, 1)), IntList{});
}

Values expand_dot(const Values& in, const void*) { return {product_of_vectors(in[0], in[1], "dot")}; }
Values expand_vdot(const Values& in, const void*) { return {product_of_vectors(conj(in[0]), in[1], "vdot")}; }

Values expand_inner(const Values& in, const void*) {
  const Value &a = in[0], &b = in[1];
  if (a->rank() == 0 || b->rank() == 0) return ops<"mul">(a, b);
  TW_CHECK(a->size(-1) == b->size(-1), kRuntime, "inner: the last sizes differ: input is ", a->sizes,
           ", other is ", b->sizes);
  check_factors(*a, *b, "inner");
  if (a->rank() == 1 && b->rank() == 1) return {product_of_vectors(a, b, "inner")};
  int64_t inner = a->size(-1);
  Dims sizes(a->sizes.begin(), a->sizes.end() - 1), others(b->sizes.begin(), b->sizes.end() - 1);
  Value rows = op<"reshape">(a, IntList{numel(sizes), inner}),
        columns = op<"reshape">(b, IntList{numel(others), inner});
  sizes.append(others.begin(), others.end());
  return {op<"reshape">(op<"mm">(rows, op<"transpose">(columns, 0, 1)), sizes)};
}

template <bool kGer>
Values expand_outer(const Values& in, const void*) {
  check_ranks(in, 1, 1, kGer ? "ger" : "outer", "two vectors");
  return ops<"mul">(op<"unsqueeze">(in[0], 1), in[1]);
}

}  // namespace

void define_vectors(OpRegistry& r) {
  r.op("mv(Tensor input, Tensor vec) -> Tensor")
      .doc("The product of a matrix and a vector.")
      .expand(expand_mv)
      .expose(kFunction | kMethod);
  r.op("dot(Tensor input, Tensor tensor) -> Tensor")
      .doc("The sum of the products of two vectors' elements.")
      .expand(expand_dot)
      .expose(kFunction | kMethod);
  r.op("vdot(Tensor input, Tensor other) -> Tensor")
      .doc("dot with the first vector conjugated.")
      .expand(expand_vdot)
      .expose(kFunction | kMethod);
  r.op("inner(Tensor input, Tensor other) -> Tensor")
      .doc("The dot products over the last dims of two tensors; the plain product where one is 0-dim.")
      .expand(expand_inner)
      .expose(kFunction | kMethod);
  r.op("outer(Tensor input, Tensor vec2) -> Tensor")
      .doc("The products of all pairs of elements of two vectors.")
      .expand(expand_outer<false>)
      .expose(kFunction | kMethod);
  r.op("ger(Tensor input, Tensor vec2) -> Tensor")
      .doc("Another name of outer.")
      .expand(expand_outer<true>)
      .expose(kFunction | kMethod);
}

}  // namespace tw::ops

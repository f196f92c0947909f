// gather: result[i][j] = input[i][index[i][j]] for dim 1, and likewise for the others.
// scatter_elements: the same places of input written by src, or reduced with it. It stands behind scatter,
// scatter_add and scatter_reduce; a src of rank 0 goes to every place. Where places repeat, the last of src
// in order stays.
#include "ops/indexing/gather.h"

#include "ir/emitter.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

// A 0-dim tensor takes part as one of a single element.
void check_index(const char* op, const ValueImpl& index, const ValueImpl& other, int64_t dim,
                 const char* name, bool along_dim) {
  if (index.count() == 0) return;  // of any dtype
  TW_CHECK(index.dtype == DType::kInt64 || index.dtype == DType::kInt32, kIndex, op,
           ": an index of dtype int64 or int32 is wanted, got ", index.dtype);
  TW_CHECK(std::max<int64_t>(index.rank(), 1) == std::max<int64_t>(other.rank(), 1), kRuntime, op,
           ": index and ", name, " must have the same number of dims, got shapes ", index.sizes, " and ",
           other.sizes);
  for (int64_t d = 0; d < std::min(index.rank(), other.rank()); d++)
    TW_CHECK((d == dim && !along_dim) || index.size(d) <= other.size(d), kRuntime, op, ": index of shape ",
             index.sizes, " goes beyond ", name, " of shape ", other.sizes, " in dim ", d);
}

void infer_gather(InferContext& c) {
  const auto& a = c.attrs<GatherAttrs>();
  TW_CHECK(!a.sparse_grad, kNotImplemented, "gather: sparse gradients are not supported");
  check_index(c.op, c.in(1), c.in(0), wrap_dim(a.dim, c.in(0).rank(), c.op), "input", false);
  c.output(c.in(0).dtype, c.in(1).sizes);
}

Value zeros_like(const Meta& meta) { return op<"full">(meta.sizes, 0, meta.dtype); }

// Both at the places of this op, which may be those of a part.
template <class A>
Value gathered(const Value& x, const A& a, const Value& index) {
  return op<"gather">(x, a.dim, index, false, a.first, a.whole);
}
template <class A>
Value scattered(const Value& x, const A& a, const Value& index, const Arg& src, const char* reduce) {
  return op<"scatter_elements">(x, a.dim, index, src, reduce, true, a.first, a.whole);
}

void gather_grad(GradContext& c) {
  const auto& a = c.attrs<GatherAttrs>();
  c.set(0, scattered(zeros_like(c.input_meta(0)), a, c.input(1), c.grad(), "sum"));
}

void infer_scatter(InferContext& c) {
  const auto& a = c.attrs<ScatterAttrs>();
  const ValueImpl &x = c.in(0), &index = c.in(1), &src = c.in(2);
  int64_t dim = wrap_dim(a.dim, x.rank(), c.op);
  bool known = false;
  for (const char* name : {"set", "sum", "prod", "mean", "amax", "amin"}) known |= a.reduce == name;
  TW_CHECK(known, kValue, "scatter: reduce must be one of sum, prod, mean, amax and amin, got ", a.reduce);
  check_index("scatter", index, x, dim, "input", false);
  if (src.rank() > 0) check_index("scatter", index, src, dim, "src", true);
  TW_CHECK(src.dtype == x.dtype || src.wrapped_number, kRuntime, "scatter: src of dtype ", x.dtype,
           " is wanted, got ", src.dtype);
  TW_CHECK(!is_complex(x.dtype) || (a.reduce != "amax" && a.reduce != "amin"), kNotImplemented,
           "scatter: complex numbers have no order for ", a.reduce);
  c.output(x.dtype, x.sizes);
}

// The gradient of one element of src goes to its place alone, also where src is larger than the index.
Value to_src(GradContext& c, const Value& gradient) {
  const Dims& sizes = c.input_meta(2).sizes;
  if (gradient->sizes == sizes || sizes.empty()) return gradient;
  Value result = gradient;
  for (int64_t d = 0; d < result->rank(); d++)
    result = op<"slice_scatter_zeros">(
        result,
        [&] {
          Dims grown = result->sizes;
          grown[d] = sizes[d];
          return grown;
        }(),
        d, 0, gradient->size(d), 1);
  return result;
}

void sum_grad(GradContext& c, const ScatterAttrs& a, const Value& input_grad) {
  if (c.needs(0)) c.set(0, input_grad);
  if (c.needs(2)) c.set(2, to_src(c, gathered(c.grad(), a, c.input(1))));
}

void mean_grad(GradContext& c, const ScatterAttrs& a) {
  const Meta& x = c.input_meta(0);
  Value index = c.input(1);
  Value counts = op<"full">(x.sizes, a.include_self ? 1 : 0, x.dtype);
  Value ones = op<"full">(index->sizes, 1, x.dtype);
  counts = scattered(counts, a, index, ones, "sum");
  Value shared = c.grad() / op<"maximum">(counts, op<"full">(IntList(), 1, x.dtype));
  if (c.needs(0)) c.set(0, a.include_self ? shared : scattered(shared, a, index, 0, "set"));
  if (c.needs(2)) c.set(2, to_src(c, gathered(shared, a, index)));
}

// The part of src that the index reaches.
Value used_src(GradContext& c) {
  Value src = c.input(2);
  const Dims& sizes = c.input(1)->sizes;
  if (src->rank() == 0) return op<"expand">(src, sizes);
  for (int64_t d = 0; d < src->rank(); d++)
    if (src->size(d) != sizes[d]) src = op<"slice">(src, d, 0, sizes[d]);
  return src;
}

// Equal extremes share the gradient evenly.
void extreme_grad(GradContext& c, const ScatterAttrs& a) {
  Value index = c.input(1), result = c.output(), src = used_src(c);
  DType dtype = result->dtype;
  Value input_hit = op<"cast">(op<"eq">(c.input(0), result), dtype);
  if (!a.include_self) input_hit = scattered(input_hit, a, index, 0, "set");
  Value src_hit = op<"cast">(op<"eq">(src, gathered(result, a, index)), dtype);
  Value hits = scattered(input_hit, a, index, src_hit, "sum");
  Value shared = c.grad() / hits;
  if (c.needs(0)) c.set(0, input_hit * shared);
  if (c.needs(2)) c.set(2, to_src(c, src_hit * gathered(shared, a, index)));
}

// The product of the other factors: the product over the factor, with a factor of 1 in its place where it is
// zero. The other factors stay as they are, so that second derivatives see them; only two zeros in src at one
// place give up that.
void prod_grad(GradContext& c, const ScatterAttrs& a) {
  Value index = c.input(1), x = c.input(0), src = used_src(c);
  if (!a.include_self) x = scattered(x, a, index, 1, "set");
  Value one = op<"full">(IntList(), 1, x->dtype), zero = op<"full">(IntList(), 0, x->dtype);
  if (c.needs(0)) {
    Value safe = op<"where">(op<"eq">(x, zero), one, x);
    Value gradient = c.grad() * conj(scattered(safe, a, index, src, "prod") / safe);
    c.set(0, a.include_self ? gradient : scattered(gradient, a, index, 0, "set"));
  }
  if (c.needs(2)) {
    Value is_zero = op<"eq">(src, zero), safe = op<"where">(is_zero, one, src);
    Value zeros =
        scattered(op<"full">(x->sizes, 0, x->dtype), a, index, op<"cast">(is_zero, x->dtype), "sum");
    Value rest = scattered(x, a, index, safe, "prod");
    rest = gathered(op<"where">(op<"eq">(zeros, one), rest, zero), a, index);
    Value others = op<"where">(is_zero, rest, gathered(c.output(), a, index) / safe);
    c.set(2, to_src(c, gathered(c.grad(), a, index) * conj(others)));
  }
}

void scatter_grad(GradContext& c) {
  const auto& a = c.attrs<ScatterAttrs>();
  if (a.reduce == "mean") return mean_grad(c, a);
  if (a.reduce == "prod") return prod_grad(c, a);
  if (a.reduce == "amax" || a.reduce == "amin") return extreme_grad(c, a);
  bool kept = a.reduce == "sum" && a.include_self;
  sum_grad(c, a, kept || !c.needs(0) ? c.grad() : scattered(c.grad(), a, c.input(1), 0, "set"));
}

// A dim that input and index share may be split with both, where their cuts agree.
void sbp_gather(sbp::RuleContext& c) {
  sbp::add_moved(c);
  int64_t rank = static_cast<int64_t>(c.inputs[0].size());
  if (rank == 0 || c.inputs[1].size() != c.inputs[0].size()) return;
  int64_t gathered_dim = wrap_dim(c.attrs<GatherAttrs>().dim, rank, "gather");
  // Where the gathered dim is split, a part gives zeros for places of others.
  c.add({{sbp::split(gathered_dim), sbp::broadcast()}, {sbp::partial()}});
  for (int64_t d = 0; d < rank; d++) {
    if (d == gathered_dim)
      c.add({{sbp::broadcast(), sbp::split(d)}, {sbp::split(d)}});
    else if (c.inputs[0][d] == c.inputs[1][d])
      c.add({{sbp::split(d), sbp::split(d)}, {sbp::split(d)}});
  }
}

void sbp_scatter(sbp::RuleContext& c) {
  int64_t rank = static_cast<int64_t>(c.inputs[0].size());
  if (rank == 0 || c.inputs[1].size() != c.inputs[0].size()) return;
  const auto& a = c.attrs<ScatterAttrs>();
  int64_t scattered = wrap_dim(a.dim, rank, "scatter");
  bool number = c.inputs[2].empty();
  c.add({{sbp::split(scattered), sbp::broadcast(), sbp::broadcast()}, {sbp::split(scattered)}});
  for (int64_t d = 0; d < rank; d++) {
    bool even = c.inputs[0][d] == c.inputs[1][d] && (number || c.inputs[2][d] == c.inputs[1][d]);
    if (d != scattered && even)
      c.add({{sbp::split(d), sbp::split(d), number ? sbp::broadcast() : sbp::split(d)}, {sbp::split(d)}});
  }
  bool linear = a.reduce == "set" || a.reduce == "sum";
  linear |= a.reduce == "mean" && !is_integral(c.input_dtypes[0]);  // means of integers are rounded
  if (linear) sbp::add_pending(c, {0, 2});
  bool sum = a.reduce == "sum" && a.include_self;
  if (sum && (number || c.inputs[2][scattered] == c.inputs[1][scattered]))  // a share of what is added
    c.add({{sbp::partial(), sbp::split(scattered), number ? sbp::broadcast() : sbp::split(scattered)},
           {sbp::partial()}});
}

template <class A>
void localize_places(ShardContext& c) {
  auto& a = c.attrs<A>();
  int64_t rank = static_cast<int64_t>(c.whole_inputs[0].size());
  if (rank == 0) return;
  int64_t dim = wrap_dim(a.dim, rank, "gather");
  if (c.inputs[0][dim] == c.whole_inputs[0][dim]) return;
  a.first = c.first_inputs[0][dim];
  a.whole = c.whole_inputs[0][dim];
}

}  // namespace

void define_gather(OpRegistry& r) {
  r.op("gather(Tensor input, int dim, Tensor index, *, bool sparse_grad=False, int _first=0, int _whole=-1) "
       "-> Tensor",
       &GatherAttrs::dim, &GatherAttrs::sparse_grad, &GatherAttrs::first, &GatherAttrs::whole)
      .doc("The elements of input that index names along dim; the result has the shape of index.")
      .infer(infer_gather)
      .grad("index", gather_grad)
      .sbp(sbp_gather)
      .localize(localize_places<GatherAttrs>)
      .cost(copy_cost)
      .expose(kFunction | kMethod);
  r.op("scatter_elements(Tensor input, int dim, Tensor index, Tensor src, str reduce=\"set\", "
       "bool include_self=True, int _first=0, int _whole=-1) -> Tensor",
       &ScatterAttrs::dim, &ScatterAttrs::reduce, &ScatterAttrs::include_self, &ScatterAttrs::first,
       &ScatterAttrs::whole)
      .doc("input with src written at, or reduced into, the places that index names along dim.")
      .infer(infer_scatter)
      .grad("input index src result", scatter_grad)
      .sbp(sbp_scatter)
      .localize(localize_places<ScatterAttrs>)
      .cost(copy_cost);
}

}  // namespace tw::ops

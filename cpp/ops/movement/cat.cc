// cat: tensors one after the other along a dim they may differ in. stack: along a new one.
#include "ops/movement/cat.h"

#include <functional>

#include "ir/emitter.h"

namespace tw::ops {

using namespace ir;

namespace {

// A tensor of shape [0] joins anything.
bool is_nothing(const Dims& sizes) { return sizes.size() == 1 && sizes[0] == 0; }

const Dims& pattern(std::span<const Dims* const> shapes) {
  for (const Dims* shape : shapes)
    if (!is_nothing(*shape)) return *shape;
  return *shapes[0];
}

void infer_cat(InferContext& c) {
  TW_CHECK(!c.list(0).empty(), kValue, "cat: at least one tensor is wanted");
  std::vector<const Dims*> shapes;
  for (const ValueImpl* x : c.list(0)) shapes.push_back(&x->sizes);
  Dims sizes = pattern(shapes);
  TW_CHECK(!sizes.empty(), kRuntime, "cat: 0-dim tensors cannot be joined; use stack");
  int64_t rank = static_cast<int64_t>(sizes.size()), dim = wrap_dim(c.attrs<CatAttrs>().dim, rank, "cat");
  int64_t total = 0;
  for (const Dims* shape : shapes) {
    if (is_nothing(*shape)) continue;
    Dims expected = sizes;
    if (shape->size() == sizes.size()) expected[dim] = (*shape)[dim];
    TW_CHECK(*shape == expected, kRuntime, "cat: shapes may differ in dim ", dim, " only, got ", sizes,
             " and ", *shape);
    total += (*shape)[dim];
  }
  sizes[dim] = total;
  c.output(c.inputs[0]->dtype, sizes);
}

void cat_grad(GradContext& c) {
  const Dims& sizes = c.output_meta().sizes;
  int64_t dim = wrap_dim(c.attrs<CatAttrs>().dim, static_cast<int64_t>(sizes.size()), "cat"), start = 0;
  for (int i = 0; i < c.input_count(); i++) {
    const Meta& input = c.input_meta(i);
    if (is_nothing(input.sizes)) {
      if (c.needs(i)) c.set(i, op<"full">(input.sizes, 0, input.dtype));
      continue;
    }
    int64_t end = start + input.sizes[dim];
    if (c.needs(i)) c.set(i, op<"slice">(c.grad(), dim, start, end));
    start = end;
  }
}

void sbp_cat(sbp::RuleContext& c) {
  int64_t rank = static_cast<int64_t>(c.outputs[0].size());
  int64_t joined = wrap_dim(c.attrs<CatAttrs>().dim, rank, "cat");
  auto all = [&](const std::function<sbp::Sbp(size_t)>& of_input, sbp::Sbp output) {
    sbp::Signature s{{}, {output}};
    for (size_t i = 0; i < c.inputs.size(); i++) s.inputs.push_back(of_input(i));
    c.add(s);
  };
  for (int64_t d = 0; d < rank; d++)
    if (d != joined)
      all([&](size_t i) { return is_nothing(c.inputs[i]) ? sbp::broadcast() : sbp::split(d); },
          sbp::split(d));
  for (auto reduce : {sbp::ReduceOp::kSum, sbp::ReduceOp::kMax, sbp::ReduceOp::kMin})
    all([&](size_t) { return sbp::partial(reduce); }, sbp::partial(reduce));
}

Values expand_stack(const Values& inputs, const void* attrs) {
  TW_CHECK(!inputs.empty(), kValue, "stack: at least one tensor is wanted");
  int64_t dim = wrap_dim(static_cast<const CatAttrs*>(attrs)->dim, inputs[0]->rank() + 1, "stack");
  Values parts;
  for (const Value& x : inputs) {
    TW_CHECK(x->sizes == inputs[0]->sizes, kRuntime, "stack: equal shapes are wanted, got ", inputs[0]->sizes,
             " and ", x->sizes);
    parts.push_back(op<"unsqueeze">(x, dim));
  }
  return {op<"cat">(parts, dim)};
}

}  // namespace

void define_cat(OpRegistry& r) {
  r.op("cat(Tensor[] tensors, int dim=0) -> Tensor", &CatAttrs::dim)
      .doc("The tensors joined along dim; their other sizes agree. A tensor of shape [0] adds nothing.")
      .promote(Promotion::kCommon)
      .autocast(Autocast::kWidest)
      .infer(infer_cat)
      .grad("", cat_grad)
      .sbp(sbp_cat)
      .order(ResultOrder::kChannelsLast, ~0u)
      .cost(copy_cost)
      .expose(kFunction);
  r.op("stack(Tensor[] tensors, int dim=0) -> Tensor", &CatAttrs::dim)
      .doc("The tensors, of one shape, joined along a new dim.")
      .expand(expand_stack)
      .expose(kFunction);
}

}  // namespace tw::ops

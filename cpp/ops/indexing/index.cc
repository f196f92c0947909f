// index: x[indices] for tensors as indices, one for each dim or none where the dim is taken whole. A bool (or
// uint8) mask of rank r stands for r dims and the positions where it is true. index_put: the same places
// overwritten by values, or added to. Repeated places all count when adding; when overwriting, the last value
// in row-major order stays.
#include "ops/indexing/index.h"

#include "ir/emitter.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

bool is_mask(const Value& index) { return index->dtype == DType::kBool || index->dtype == DType::kUInt8; }

void check_mask(const Dims& input, const ValueImpl& mask, size_t dim, const char* op) {
  for (size_t i = 0; i < mask.sizes.size(); i++)
    TW_CHECK(dim + i < input.size() && mask.sizes[i] == input[dim + i], kIndex, op, ": a mask of shape ",
             mask.sizes, " does not fit the dims of ", input, " from ", dim, " on");
}

// Masks become one integer index for each of their dims.
Values integer_indices(const Value& x, std::span<const Value> indices, const char* op_name) {
  Values result;
  for (const Value& index : indices) {
    if (!index) {
      result.emplace_back();
    } else if (is_mask(index)) {
      check_mask(x->sizes, *index, result.size(), op_name);
      Value positions = op<"nonzero">(index);
      for (int64_t d = 0; d < index->rank(); d++) result.push_back(op<"select">(positions, 1, d));
    } else {
      TW_CHECK(is_integral(index->dtype), kIndex, op_name, ": indices must be integers or bools, got dtype ",
               index->dtype);
      result.push_back(index->dtype == DType::kInt64 ? index : op<"cast">(index, DType::kInt64));
    }
  }
  return result;
}

Values expand_index(const Values& inputs, const void*) {
  return {op<"index_gather">(inputs[0], integer_indices(inputs[0], std::span(inputs).subspan(1), "index"))};
}

// The indices that a gradient rule saved: inputs 1 to `last`.
Values saved_indices(GradContext& c, int last) {
  Values indices;
  for (int i = 1; i <= last; i++) indices.push_back(c.input(i));
  return indices;
}

std::vector<const Dims*> index_shapes(std::span<const ValueImpl* const> indices, const char* op) {
  std::vector<const Dims*> shapes;
  for (const ValueImpl* index : indices) {
    if (index)
      TW_CHECK(index->dtype == DType::kInt64, kIndex, op, ": indices of dtype int64 are wanted, got ",
               index->dtype);
    shapes.push_back(index ? &index->sizes : nullptr);
  }
  return shapes;
}

void infer_gather(InferContext& c) {
  const ValueImpl& x = c.param(0);
  c.output(x.dtype, index_layout(x.sizes, index_shapes(c.list(1), "index"), "index").sizes);
}

void gather_grad(GradContext& c) {
  c.set(0,
        op<"index_gather_backward">(c.grad(), saved_indices(c, c.input_count() - 1), c.input_meta(0).sizes));
}

void infer_gather_backward(InferContext& c) {
  const auto& a = c.attrs<IndexBackwardAttrs>();
  Dims wanted = index_layout(a.input_size, index_shapes(c.list(1), c.op), c.op).sizes;
  TW_CHECK(c.param(0).sizes == wanted, kInternal, c.op, ": a gradient of shape ", wanted, " is wanted, got ",
           c.param(0).sizes);
  c.output(c.param(0).dtype, a.input_size);
}

void gather_backward_grad(GradContext& c) {
  c.set(0, op<"index_gather">(c.grad(), saved_indices(c, c.input_count() - 1)));
}

// Shapes of the indices with masks taken apart; how many places a mask holds is known to the kernel only, so
// an op with masks leaves the check of the values' shape to it.
void infer_put(InferContext& c) {
  const ValueImpl& x = c.param(0);
  const ValueImpl& values = c.param(2);
  TW_CHECK(values.dtype == x.dtype || values.wrapped_number, kRuntime, c.op, ": values of dtype ", x.dtype,
           " are wanted, got ", values.dtype);
  std::vector<const Dims*> shapes;
  bool masked = false;
  for (const ValueImpl* index : c.list(1)) {
    if (index && (index->dtype == DType::kBool || index->dtype == DType::kUInt8)) {
      check_mask(x.sizes, *index, shapes.size(), c.op);
      masked = true;
      for (int64_t d = 0; d < index->rank(); d++) shapes.push_back(nullptr);
      continue;
    }
    if (index)
      TW_CHECK(is_integral(index->dtype), kIndex, c.op, ": indices must be integers or bools, got dtype ",
               index->dtype);
    shapes.push_back(index ? &index->sizes : nullptr);
  }
  Dims places = index_layout(x.sizes, shapes, c.op).sizes;
  if (!masked)
    TW_CHECK(broadcast_sizes(places, values.sizes, c.op) == places, kRuntime, c.op, ": values of shape ",
             values.sizes, " do not broadcast to the indexed shape ", places);
  c.output(x.dtype, x.sizes);
}

void put_grad(GradContext& c) {
  int last = c.input_count() - 1;
  Values indices = saved_indices(c, last - 1);
  if (c.needs(0))
    c.set(0, c.attrs<IndexPutAttrs>().accumulate
                 ? c.grad()
                 : op<"index_put">(c.grad(), indices, op<"full">(IntList(), 0, c.grad()->dtype)));
  if (c.needs(last)) c.set(last, op<"index">(c.grad(), indices));
}

// The shapes of inputs 1 to `last`.
std::vector<const Dims*> shapes_of(const sbp::RuleContext& c, size_t last) {
  std::vector<const Dims*> shapes;
  for (size_t i = 1; i < last; i++) shapes.push_back(c.present[i] ? &c.inputs[i] : nullptr);
  return shapes;
}

// A signature for each dim that no index stands for: add(signature, the dim, its place among the indexed
// dims).
void add_whole_dims(sbp::RuleContext& c, const IndexLayout& layout, const auto& add) {
  size_t before = layout.before.size(), rank = layout.broadcast.size();
  for (size_t i = 0; i < before + layout.after.size(); i++) {
    sbp::Signature s = c.all_broadcast();
    if (i < before)
      add(s, layout.before[i], i);
    else
      add(s, layout.after[i - before], rank + i);
    c.add(std::move(s));
  }
}

// Every index that has dim `i` of their common shape is split there.
void split_indices(const sbp::RuleContext& c, sbp::Signature& s, const IndexLayout& layout, size_t i,
                   size_t last) {
  size_t rank = layout.broadcast.size();
  for (size_t k = 1; k < last; k++) {
    size_t missing = rank - c.inputs[k].size();
    if (c.present[k] && i >= missing && c.inputs[k][i - missing] == layout.broadcast[i])
      s.inputs[k] = sbp::split(static_cast<int64_t>(i - missing));
  }
}

// Dims taken whole keep their split, dims of the indices hand theirs on; elements are moved.
void sbp_gather(sbp::RuleContext& c) {
  sbp::add_moved(c);
  IndexLayout layout = index_layout(c.inputs[0], shapes_of(c, c.inputs.size()), "index");
  add_whole_dims(c, layout, [&](sbp::Signature& s, int64_t whole, size_t indexed) {
    s.inputs[0] = sbp::split(whole);
    s.outputs[0] = sbp::split(static_cast<int64_t>(indexed));
  });
  for (size_t i = 0; i < layout.broadcast.size(); i++) {
    sbp::Signature s = c.all_broadcast();
    split_indices(c, s, layout, i, c.inputs.size());
    s.outputs[0] = sbp::split(static_cast<int64_t>(layout.before.size() + i));
    c.add(std::move(s));
  }
}

// Linear in the gradient; a share of the places gives a share of the sum.
void sbp_gather_backward(sbp::RuleContext& c) {
  sbp::add_pending(c, {0});
  IndexLayout layout = index_layout(c.outputs[0], shapes_of(c, c.inputs.size()), "index");
  add_whole_dims(c, layout, [&](sbp::Signature& s, int64_t whole, size_t indexed) {
    s.inputs[0] = sbp::split(static_cast<int64_t>(indexed));
    s.outputs[0] = sbp::split(whole);
  });
  for (size_t i = 0; i < layout.broadcast.size(); i++) {
    sbp::Signature s = c.all_broadcast();
    split_indices(c, s, layout, i, c.inputs.size());
    s.inputs[0] = sbp::split(static_cast<int64_t>(layout.before.size() + i));
    s.outputs[0] = sbp::partial();
    c.add(std::move(s));
  }
}

// A mask of one dim stands for one dim, as a tensor of integers does; which it is cannot be seen from shapes,
// nor how many dims one of several stands for.
bool may_be_wide_mask(const sbp::RuleContext& c) {
  const Dims& x = c.inputs[0];
  for (size_t k = 1; k + 1 < c.inputs.size(); k++) {
    const Dims& index = c.inputs[k];
    if (!c.present[k] || index.size() == 1) continue;
    bool fits = k - 1 + index.size() <= x.size();
    for (size_t i = 0; fits && i < index.size(); i++) fits = index[i] == x[k - 1 + i];
    if (fits) return true;
  }
  return false;
}

// What is pending in input and values alike passes; values that are added may be a share of them. Dims taken
// whole keep their split.
void sbp_put(sbp::RuleContext& c) {
  size_t values = c.inputs.size() - 1;
  for (auto reduce : {sbp::ReduceOp::kSum, sbp::ReduceOp::kMax, sbp::ReduceOp::kMin})
    if (reduce == sbp::ReduceOp::kSum || !c.attrs<IndexPutAttrs>().accumulate)
      sbp::add_pending(c, {0, values}, reduce);
  if (may_be_wide_mask(c)) return;
  IndexLayout layout = index_layout(c.inputs[0], shapes_of(c, values), "index_put");
  const Dims& given = c.inputs[values];
  // The dim of the values that is this one of the indexed places; -1 where they broadcast along it.
  auto of_values = [&](size_t place) {
    int64_t dim = static_cast<int64_t>(place + given.size()) - static_cast<int64_t>(layout.sizes.size());
    return dim >= 0 && given[dim] == layout.sizes[place] ? dim : -1;
  };
  add_whole_dims(c, layout, [&](sbp::Signature& s, int64_t whole, size_t place) {
    s.inputs[0] = s.outputs[0] = sbp::split(whole);
    if (int64_t dim = of_values(place); dim >= 0) s.inputs[values] = sbp::split(dim);
  });
  for (size_t i = 0; i < layout.broadcast.size() && c.attrs<IndexPutAttrs>().accumulate; i++) {
    sbp::Signature s = c.all_broadcast();
    split_indices(c, s, layout, i, values);
    if (int64_t dim = of_values(layout.before.size() + i); dim >= 0) s.inputs[values] = sbp::split(dim);
    s.inputs[0] = s.outputs[0] = sbp::partial();
    c.add(std::move(s));
  }
}

}  // namespace

void define_index(OpRegistry& r) {
  r.op("index(Tensor input, Tensor?[] indices) -> Tensor")
      .doc("The elements of input at the places that integer or bool tensors name, as input[indices] does.")
      .expand(expand_index);
  r.op("index_gather(Tensor input, Tensor?[] indices) -> Tensor")
      .doc("index for integer indices.")
      .infer(infer_gather)
      .grad("indices", gather_grad)
      .sbp(sbp_gather)
      .cost(copy_cost);
  r.op("index_gather_backward(Tensor grad, Tensor?[] indices, int[] input_size) -> Tensor",
       &IndexBackwardAttrs::input_size)
      .doc("Zeros of input_size with grad added at the indexed places: the gradient of index_gather.")
      .infer(infer_gather_backward)
      .grad("indices", gather_backward_grad)
      .sbp(sbp_gather_backward)
      .localize(holds_output_sizes<&IndexBackwardAttrs::input_size>)
      .cost(copy_cost);
  r.op("index_put(Tensor input, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
       &IndexPutAttrs::accumulate)
      .doc("input with values written at (or, with accumulate, added to) the places that indices name.")
      .infer(infer_put)
      .grad("indices", put_grad)
      .sbp(sbp_put)
      .cost(copy_cost)
      .expose(kFunction | kMethod | kInplace);
}

}  // namespace tw::ops

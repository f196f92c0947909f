// index: x[indices] for tensors as indices, one for each dim or none where the dim is taken whole. A bool (or
// uint8) mask of rank r stands for r dims and the positions where it is true. index_put: the same places
// overwritten by values, or added to. Repeated places all count when adding; when overwriting, the last value
// in row-major order stays.
#include "ops/indexing/index.h"

#include "ir/emitter.h"

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

sbp::Signature all_broadcast(const sbp::RuleContext& c) {
  return {std::vector<sbp::Sbp>(c.inputs.size(), sbp::broadcast()), {sbp::broadcast()}};
}

// Dims taken whole keep their split, dims of the indices hand theirs on; linear in the input.
void sbp_gather(sbp::RuleContext& c) {
  const Dims& x = c.inputs[0];
  std::vector<const Dims*> shapes;
  for (size_t i = 1; i < c.inputs.size(); i++) shapes.push_back(c.present[i] ? &c.inputs[i] : nullptr);
  IndexLayout layout = index_layout(x, shapes, "index");
  auto add_whole = [&](int64_t from, size_t to) {
    sbp::Signature s = all_broadcast(c);
    s.inputs[0] = sbp::split(from);
    s.outputs[0] = sbp::split(static_cast<int64_t>(to));
    c.add(s);
  };
  size_t before = layout.before.size(), rank = layout.broadcast.size();
  for (size_t i = 0; i < before; i++) add_whole(layout.before[i], i);
  for (size_t i = 0; i < layout.after.size(); i++) add_whole(layout.after[i], before + rank + i);
  for (size_t i = 0; i < rank; i++) {
    sbp::Signature s = all_broadcast(c);
    for (size_t k = 1; k < c.inputs.size(); k++) {
      size_t missing = rank - c.inputs[k].size();
      if (c.present[k] && i >= missing && c.inputs[k][i - missing] == layout.broadcast[i])
        s.inputs[k] = sbp::split(static_cast<int64_t>(i - missing));
    }
    s.outputs[0] = sbp::split(static_cast<int64_t>(before + i));
    c.add(s);
  }
  sbp::Signature pending = all_broadcast(c);
  pending.inputs[0] = pending.outputs[0] = sbp::partial();
  c.add(pending);
}

// Linear in the gradient; a share of the places gives a share of the sum.
void sbp_gather_backward(sbp::RuleContext& c) {
  sbp::Signature pending = all_broadcast(c);
  pending.inputs[0] = pending.outputs[0] = sbp::partial();
  c.add(pending);
}

// Which dims a mask stands for cannot be seen from shapes: only what is pending in input and values alike
// passes.
void sbp_put(sbp::RuleContext& c) {
  sbp::Signature pending = all_broadcast(c);
  pending.inputs.front() = pending.inputs.back() = pending.outputs[0] = sbp::partial();
  c.add(pending);
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

// embedding_lookup: rows of a table [rows, width] at indices [*], giving [*, width]. Its gradient sums what
// flows to each row, none to padding_idx; with scale_grad_by_freq each share is divided by how often its row
// was read. embedding_renorm: rows that are read are scaled down to max_norm.
#include "ops/indexing/embedding.h"

#include "ir/emitter.h"
#include "ops/shape_checks.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void check_indices(const ValueImpl& indices) {
  TW_CHECK(indices.dtype == DType::kInt64 || indices.dtype == DType::kInt32, kType,
           "embedding: indices of dtype int64 or int32 are wanted, got ", indices.dtype);
}

void infer_lookup(InferContext& c) {
  TW_CHECK(c.in(0).rank() == 2, kRuntime, "embedding: a weight of 2 dims is wanted, got shape ",
           c.in(0).sizes);
  check_indices(c.in(1));
  Dims sizes = c.in(1).sizes;
  sizes.push_back(c.in(0).size(1));
  c.output(c.in(0).dtype, sizes);
}

void lookup_grad(GradContext& c) {
  const auto& a = c.attrs<EmbeddingAttrs>();
  c.set(0, op<"embedding_backward">(c.grad(), c.input(1), c.input_meta(0).sizes[0], a.padding_idx,
                                    a.scale_grad_by_freq, a.first_row, a.whole_rows));
}

void infer_backward(InferContext& c) {
  check_indices(c.in(1));
  Dims rows = c.in(1).sizes;
  rows.push_back(c.in(0).size(-1));
  want_sizes(c, 0, "grad", rows);
  c.output(c.in(0).dtype, {c.attrs<EmbeddingBackwardAttrs>().num_weights, c.in(0).size(-1)});
}

// The backward is linear in grad: what flows into row r goes to every place that read r, with the same
// factor.
void backward_grad(GradContext& c) {
  const auto& a = c.attrs<EmbeddingBackwardAttrs>();
  Value indices = c.input(1), gradient = c.grad();
  DType dtype = gradient->dtype;
  if (a.padding_idx >= 0) {
    Value kept = op<"full">(IntList{a.num_weights, 1}, 1, dtype);
    kept = op<"index_put">(kept, Values{op<"full">(IntList(), a.padding_idx, DType::kInt64)},
                           op<"full">(IntList(), 0, dtype));
    gradient = gradient * kept;
  }
  if (a.scale_grad_by_freq) {
    IntList column = indices->sizes;
    column.push_back(1);
    Value counts = op<"embedding_backward">(op<"full">(column, 1, dtype), indices, a.num_weights, -1, false,
                                            a.first_row, a.whole_rows);
    gradient = gradient / op<"maximum">(counts, op<"full">(IntList(), 1, dtype));
  }
  c.set(0, op<"embedding_lookup">(gradient, indices, -1, false, a.first_row, a.whole_rows));
}

void infer_renorm(InferContext& c) {
  check_indices(c.in(1));
  infer_same(c);
}

// Indices hand their dims on. Where rows are split, a part gives zeros for those of others.
void sbp_lookup(sbp::RuleContext& c) {
  int64_t rank = static_cast<int64_t>(c.inputs[1].size());
  c.add({{sbp::split(0), sbp::broadcast()}, {sbp::partial()}});
  c.add({{sbp::split(1), sbp::broadcast()}, {sbp::split(rank)}});
  for (int64_t d = 0; d < rank; d++) c.add({{sbp::broadcast(), sbp::split(d)}, {sbp::split(d)}});
  sbp::add_moved(c);
}

template <class A>
void localize_rows(A& a, int64_t rows, int64_t first, int64_t whole) {
  a.first_row = first;
  a.whole_rows = whole;
  a.padding_idx = a.padding_idx >= first && a.padding_idx < first + rows ? a.padding_idx - first : -1;
}

void localize_lookup(ShardContext& c) {
  localize_rows(c.attrs<EmbeddingAttrs>(), c.inputs[0][0], c.first_inputs[0][0], c.whole_inputs[0][0]);
}

void localize_backward(ShardContext& c) {
  auto& a = c.attrs<EmbeddingBackwardAttrs>();
  a.num_weights = c.outputs[0][0];
  localize_rows(a, a.num_weights, c.first_outputs[0][0], c.whole_outputs[0][0]);
}

void sbp_backward(sbp::RuleContext& c) {
  int64_t rank = static_cast<int64_t>(c.inputs[1].size());
  c.add({{sbp::broadcast(), sbp::broadcast()}, {sbp::split(0)}});
  c.add({{sbp::split(rank), sbp::broadcast()}, {sbp::split(1)}});
  if (!c.attrs<EmbeddingBackwardAttrs>().scale_grad_by_freq)
    for (int64_t d = 0; d < rank; d++) c.add({{sbp::split(d), sbp::split(d)}, {sbp::partial()}});
  sbp::add_pending(c, {0});
}

}  // namespace

void define_embedding(OpRegistry& r) {
  r.op("embedding_lookup(Tensor weight, Tensor input, int padding_idx=-1, bool scale_grad_by_freq=False, "
       "int _first_row=0, int _whole_rows=-1) -> Tensor",
       &EmbeddingAttrs::padding_idx, &EmbeddingAttrs::scale_grad_by_freq, &EmbeddingAttrs::first_row,
       &EmbeddingAttrs::whole_rows)
      .doc("The rows of weight that input names.")
      .infer(infer_lookup)
      .grad("input", lookup_grad)
      .sbp(sbp_lookup)
      .localize(localize_lookup)
      .cost(copy_cost);
  r.op("embedding_backward(Tensor grad, Tensor input, int num_weights, int padding_idx, bool "
       "scale_grad_by_freq, int _first_row=0, int _whole_rows=-1) -> Tensor",
       &EmbeddingBackwardAttrs::num_weights, &EmbeddingBackwardAttrs::padding_idx,
       &EmbeddingBackwardAttrs::scale_grad_by_freq, &EmbeddingBackwardAttrs::first_row,
       &EmbeddingBackwardAttrs::whole_rows)
      .doc("The gradient of embedding_lookup for weight.")
      .infer(infer_backward)
      .grad("input", backward_grad)
      .sbp(sbp_backward)
      .localize(localize_backward)
      .cost(copy_cost);
  r.op("embedding_renorm(Tensor weight, Tensor input, float max_norm, float norm_type=2.0) -> Tensor",
       &RenormAttrs::max_norm, &RenormAttrs::norm_type)
      .doc("weight with the rows that input names scaled down to max_norm where their norm is larger.")
      .infer(infer_renorm)
      .no_grad("it prepares a table outside of the tape")
      .sbp(sbp::broadcast_only)  // norms need whole rows, and any row may be named
      .cost(copy_cost);
}

}  // namespace tw::ops

// unique_rows: the distinct rows of a matrix, sorted (or of each run of equal rows, in their order), which of
// them each row is, and how often each occurs. bincount, histc: how often numbers occur. searchsorted_rows:
// where values belong in a sorted sequence.
//
// A NaN equals nothing, not even a NaN.
#include "ops/ordering/unique.h"

#include "ir/emitter.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_unique(InferContext& c) {
  TW_CHECK(!is_complex(c.in(0).dtype), kRuntime, c.op, ": complex numbers have no order, got ",
           c.in(0).dtype);
  TW_ASSERT(c.in(0).rank(), ==, 2);
  c.output(c.in(0).dtype, c.in(0).sizes);
  c.output(DType::kInt64, {c.in(0).size(0)});
  c.output(DType::kInt64, {c.in(0).size(0)});
}

void infer_bincount(InferContext& c) {
  const ValueImpl& x = c.in(0);
  int64_t minlength = c.attrs<BincountAttrs>().minlength;
  TW_CHECK(is_integral(x.dtype), kRuntime, "bincount: an integer dtype is wanted, got ", x.dtype);
  TW_CHECK(x.rank() == 1, kRuntime, "bincount: one dim is wanted, got shape ", x.sizes);
  TW_CHECK(minlength >= 0, kRuntime, "bincount: minlength must not be negative, got ", minlength);
  DType dtype = DType::kInt64;
  if (c.has(1)) {
    TW_CHECK(c.in(1).sizes == x.sizes, kRuntime, "bincount: weights must have input's shape ", x.sizes,
             ", got ", c.in(1).sizes);
    dtype = c.in(1).dtype == DType::kFloat32 ? DType::kFloat32 : DType::kFloat64;
  }
  c.output(dtype, {minlength});
}

void infer_histc(InferContext& c) {
  const auto& a = c.attrs<HistcAttrs>();
  TW_CHECK(!is_complex(c.in(0).dtype) && !is_bool(c.in(0).dtype), kRuntime, "histc: dtype ", c.in(0).dtype,
           " is not supported");
  TW_CHECK(a.bins > 0, kRuntime, "histc: bins must be positive, got ", a.bins);
  TW_CHECK(a.min <= a.max, kRuntime, "histc: min must not be above max, got ", a.min, " and ", a.max);
  c.output(c.in(0).dtype, {a.bins});
}

void infer_search(InferContext& c) {
  const ValueImpl &sequence = c.in(0), &values = c.in(1);
  TW_CHECK(sequence.dtype == values.dtype, kRuntime, c.op, ": sequence and values must have one dtype, got ",
           sequence.dtype, " and ", values.dtype);
  TW_CHECK(sequence.rank() > 0, kRuntime, c.op, ": the sorted sequence needs a dim");
  TW_CHECK(!is_complex(sequence.dtype), kRuntime, c.op, ": complex numbers have no order");
  if (sequence.rank() > 1) {
    TW_CHECK(values.rank() == sequence.rank() &&
                 std::equal(values.sizes.begin(), values.sizes.end() - 1, sequence.sizes.begin()),
             kRuntime, c.op, ": all dims but the last must agree, sequence is ", sequence.sizes,
             ", values are ", values.sizes);
  }
  TW_CHECK(!c.has(2) || (c.in(2).sizes == sequence.sizes && c.in(2).dtype == DType::kInt64), kRuntime, c.op,
           ": sorter must be int64 of the sequence's shape ", sequence.sizes, ", got ",
           c.has(2) ? c.in(2).sizes : Dims());
  c.output(c.attrs<SearchAttrs>().out_int32 ? DType::kInt32 : DType::kInt64, values.sizes);
}

void sbp_search(sbp::RuleContext& c) {
  bool shared = c.inputs[0].size() == 1;
  for (int64_t dim = 0; dim < static_cast<int64_t>(c.inputs[1].size()); dim++) {
    bool last = dim + 1 == static_cast<int64_t>(c.inputs[1].size());
    sbp::Sbp sequence = shared || last ? sbp::broadcast() : sbp::split(dim);
    c.add({{sequence, sbp::split(dim), c.present[2] ? sequence : sbp::broadcast()}, {sbp::split(dim)}});
  }
  // A place is a count of smaller elements, and each device can count its own.
  if (!c.present[2])
    c.add({{sbp::split(static_cast<int64_t>(c.inputs[0].size()) - 1), {}, {}}, {sbp::partial()}});
}

}  // namespace

void define_unique(OpRegistry& r) {
  r.op("unique_rows(Tensor input, bool consecutive=False) -> (Tensor rows, Tensor inverse, Tensor counts)",
       &UniqueAttrs::consecutive)
      .doc(
          "The distinct rows of a matrix, the row of the result that each row is, and how often each occurs.")
      .dynamic()
      .infer(infer_unique)
      .no_grad("which elements stay depends on all of them")
      .sbp(sbp::broadcast_only)
      .cost(pointwise_cost<40>);
  r.op("bincount(Tensor input, Tensor? weights=None, int minlength=0) -> Tensor", &BincountAttrs::minlength)
      .doc("How often each number from 0 on occurs, or the sum of the weights where it does.")
      .dynamic()
      .infer(infer_bincount)
      .no_grad("a count")
      .sbp(sbp::broadcast_only)
      .cost(reduction_cost<1>)
      .expose(kFunction | kMethod);
  r.op("histc(Tensor input, int bins=100, float min=0.0, float max=0.0) -> Tensor", &HistcAttrs::bins,
       &HistcAttrs::min, &HistcAttrs::max)
      .doc("How many elements fall into each of `bins` equal parts of [min, max], or of the data's range.")
      .infer(infer_histc)
      .no_grad("a count")
      .sbp(sbp::broadcast_only)
      .cost(reduction_cost<4>)
      .expose(kFunction | kMethod);
  r.op("searchsorted_rows(Tensor sorted_sequence, Tensor values, Tensor? sorter=None, bool out_int32=False,"
       " bool right=False) -> Tensor",
       &SearchAttrs::out_int32, &SearchAttrs::right)
      .doc("Where each value would be inserted into its row of the sorted sequence.")
      .infer(infer_search)
      .no_grad("an index")
      .sbp(sbp_search)
      .cost(pointwise_cost<20>);
}

}  // namespace tw::ops

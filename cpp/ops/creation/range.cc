// Numbers in even steps: range_fill (behind arange) from a start by a step, linspace_fill between two ends,
// both of them met exactly. repeat_positions: position i as often as repeats[i] says.
#include "ops/creation/range.h"

#include "ir/emitter.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_range(InferContext& c) {
  const auto& a = c.attrs<RangeAttrs>();
  TW_CHECK(a.count >= 0, kValue, c.op, ": a count of at least 0 is wanted, got ", a.count);
  c.output(a.dtype, {a.count});
}

void infer_linspace(InferContext& c) {
  const auto& a = c.attrs<LinspaceAttrs>();
  TW_CHECK(a.steps >= 0, kRuntime, "linspace: a number of steps of at least 0 is wanted, got ", a.steps);
  c.output(a.dtype, {a.steps});
}

void infer_repeat(InferContext& c) {
  TW_CHECK(c.in(0).rank() == 1 && c.in(0).dtype == DType::kInt64, kRuntime,
           "repeat_interleave: repeats must be a 1-dim ", "tensor of integers, got shape ", c.in(0).sizes,
           " and dtype ", c.in(0).dtype);
  c.output(DType::kInt64, {c.attrs<RepeatAttrs>().total});
}

void localize_range(ShardContext& c) {
  c.attrs<RangeAttrs>().count = c.outputs[0][0];
  c.attrs<RangeAttrs>().first = c.first_outputs[0][0];
}

void localize_linspace(ShardContext& c) {
  c.attrs<LinspaceAttrs>().steps = c.outputs[0][0];
  c.attrs<LinspaceAttrs>().first = c.first_outputs[0][0];
  c.attrs<LinspaceAttrs>().whole = c.whole_outputs[0][0];
}

void sbp_line(sbp::RuleContext& c) { c.add({{}, {sbp::split(0)}}); }

}  // namespace

void define_range(OpRegistry& r) {
  r.op("range_fill(int count, Scalar start, Scalar step, dtype dtype, int _first=0) -> Tensor",
       &RangeAttrs::count, &RangeAttrs::start, &RangeAttrs::step, &RangeAttrs::dtype, &RangeAttrs::first)
      .doc("start, start + step, start + 2 step, ...")
      .infer(infer_range)
      .no_grad("it has no tensor inputs")
      .sbp(sbp_line)
      .localize(localize_range)
      .cost(copy_cost);
  r.op("linspace_fill(int steps, Scalar start, Scalar end, dtype dtype, int _first=0, int? _whole=None) -> "
       "Tensor",
       &LinspaceAttrs::steps, &LinspaceAttrs::start, &LinspaceAttrs::end, &LinspaceAttrs::dtype,
       &LinspaceAttrs::first, &LinspaceAttrs::whole)
      .doc("Evenly spaced numbers from start to end, both included.")
      .infer(infer_linspace)
      .no_grad("it has no tensor inputs")
      .sbp(sbp_line)
      .localize(localize_linspace)
      .cost(copy_cost);
  r.op("repeat_positions(Tensor repeats, int total) -> Tensor", &RepeatAttrs::total)
      .doc("Position i repeats[i] times; total is the sum of repeats.")
      .infer(infer_repeat)
      .no_grad("positions are integers")
      .sbp(sbp::broadcast_only)  // where a position goes depends on all repeats before it
      .cost(copy_cost);
}

}  // namespace tw::ops

#include "sbp/rules.h"

namespace tw::sbp {

namespace {

// Bits of the integers that a dtype holds without a gap from 0 on, signs left out.
int digits_of(DType dtype) {
  switch (real_of(dtype)) {
    case DType::kFloat16:
      return 11;
    case DType::kBFloat16:
      return 8;
    case DType::kFloat32:
      return 24;
    case DType::kFloat64:
      return 53;
    default:
      return 8 * size_of(dtype) - (dtype == DType::kUInt8 ? 0 : 1);
  }
}

// All of its numbers are numbers of the other.
bool float_within(DType from, DType to) {
  from = real_of(from), to = real_of(to);
  return from == to || (digits_of(from) <= digits_of(to) && !is_half(to));
}

}  // namespace

void add_pending(RuleContext& c, std::initializer_list<size_t> inputs, ReduceOp reduce) {
  Signature signature = c.all_broadcast();
  for (size_t input : inputs) signature.inputs[input] = partial(reduce);
  for (Sbp& output : signature.outputs) output = partial(reduce);
  c.add(std::move(signature));
}

void add_moved(RuleContext& c, size_t input) {
  add_pending(c, {input});
  add_rising(c, input);
}

void add_rising(RuleContext& c, size_t input) {
  for (ReduceOp reduce : {ReduceOp::kMax, ReduceOp::kMin}) add_pending(c, {input}, reduce);
}

void add_falling(RuleContext& c, size_t input) {
  for (ReduceOp reduce : {ReduceOp::kMax, ReduceOp::kMin}) {
    add_pending(c, {input}, reduce == ReduceOp::kMax ? ReduceOp::kMin : ReduceOp::kMax);
    c.signatures.back().inputs[input] = partial(reduce);
  }
}

bool cast_keeps_sums(DType from, DType to) {
  if (from == to) return true;
  if (is_bool(from) || is_bool(to)) return false;
  if (is_integral(to)) return is_integral(from) && (size_of(to) <= size_of(from) || from != DType::kUInt8);
  if (is_integral(from)) return from != DType::kUInt8 && digits_of(from) <= digits_of(to);
  return float_within(from, to);
}

bool cast_rises(DType from, DType to) {
  if (is_complex(from) || is_complex(to)) return false;
  if (from == to || is_bool(from) || is_float(to)) return true;
  if (is_bool(to)) return from == DType::kUInt8;
  return is_integral(from) && digits_of(from) <= digits_of(to) &&
         (from == DType::kUInt8 || to != DType::kUInt8);
}

void add_cast(RuleContext& c, std::initializer_list<size_t> inputs, DType from) {
  const DType to = c.output_dtypes[0];
  if (cast_keeps_sums(from, to)) add_pending(c, inputs);
  if (!cast_rises(from, to)) return;
  for (ReduceOp reduce : {ReduceOp::kMax, ReduceOp::kMin}) add_pending(c, inputs, reduce);
}

void elementwise_moved(RuleContext& c) {
  elementwise(c);
  add_moved(c);
}

void elementwise_copy(RuleContext& c) {
  elementwise(c);
  add_cast(c, {0, 1}, c.input_dtypes[1]);
}

void elementwise_falling(RuleContext& c) {
  elementwise(c);
  if (!is_complex(c.input_dtypes[0])) add_falling(c);
}

void elementwise_negative(RuleContext& c) {
  elementwise_linear(c);
  if (is_float(c.input_dtypes[0])) add_falling(c);
}

void elementwise_conjugate(RuleContext& c) {
  elementwise_linear(c);
  if (!is_complex(c.input_dtypes[0])) add_rising(c);
}

void elementwise_rising_if_real(RuleContext& c) {
  elementwise(c);
  if (!is_complex(c.input_dtypes[0])) add_rising(c);
}

void elementwise_linear_in_first(RuleContext& c) {
  elementwise(c);
  add_pending(c, {0});
}

}  // namespace tw::sbp

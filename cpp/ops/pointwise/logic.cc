// Bits and truth. bitwise_and, or, xor, not: integers and bools. Shifts: integers; a shift by the width or
// more, or by a negative number, gives 0, or the sign for bitwise_right_shift. The logical ops take any
// dtype, nonzero being true, and are the bitwise ones on bools. gcd and lcm: of the sizes of integers, never
// negative.
#include "ops/pointwise/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

template <bool kBool>
void infer_bits(InferContext& c) {
  infer_broadcast(c);
  DType dtype = c.in(0).dtype;
  TW_CHECK(is_integral(dtype) || (kBool && is_bool(dtype)), kNotImplemented, c.op, ": an integer ",
           kBool ? "or bool " : "", "dtype is wanted, got ", dtype);
}

Value truth(const Value& value) { return is_bool(value->dtype) ? value : op<"cast">(value, DType::kBool); }

template <OpName kBitwise>
Values expand_logical(const Values& inputs, const void*) {
  return {op<kBitwise>(truth(inputs[0]), truth(inputs[1]))};
}
Values expand_logical_not(const Values& inputs, const void*) { return {op<"eq">(inputs[0], 0)}; }

void define_bits(OpRegistry& r, const char* schema, const char* doc, InferFn infer, unsigned numbers = ~0u) {
  r.op(schema)
      .doc(doc)
      .promote(Promotion::kCommon)
      .numbers(numbers)
      .infer(infer)
      .no_grad("integers have no gradient")
      .sbp(sbp::elementwise)
      .cost(pointwise_cost<1>)
      .expose(kEverywhere);
}

}  // namespace

void define_logic(OpRegistry& r) {
  define_bits(r, "bitwise_and(Tensor input, Tensor other) -> Tensor", "input & other, bit by bit.",
              infer_bits<true>);
  define_bits(r, "bitwise_or(Tensor input, Tensor other) -> Tensor", "input | other, bit by bit.",
              infer_bits<true>);
  define_bits(r, "bitwise_xor(Tensor input, Tensor other) -> Tensor", "input ^ other, bit by bit.",
              infer_bits<true>);
  define_bits(r, "bitwise_not(Tensor input) -> Tensor", "~input, bit by bit; of bools their negation.",
              infer_bits<true>);
  define_bits(r, "bitwise_left_shift(Tensor input, Tensor other) -> Tensor", "input << other.",
              infer_bits<false>);
  define_bits(r, "bitwise_right_shift(Tensor input, Tensor other) -> Tensor",
              "input >> other, keeping the sign.", infer_bits<false>);
  define_bits(r, "gcd(Tensor input, Tensor other) -> Tensor", "The greatest common divisor.",
              infer_bits<false>, 0);
  define_bits(r, "lcm(Tensor input, Tensor other) -> Tensor", "The least common multiple.", infer_bits<false>,
              0);
  r.op("logical_and(Tensor input, Tensor other) -> Tensor")
      .doc("Whether both elements are nonzero.")
      .expand(expand_logical<"bitwise_and">)
      .numbers(0)
      .expose(kEverywhere);
  r.op("logical_or(Tensor input, Tensor other) -> Tensor")
      .doc("Whether any of two elements is nonzero.")
      .expand(expand_logical<"bitwise_or">)
      .numbers(0)
      .expose(kEverywhere);
  r.op("logical_xor(Tensor input, Tensor other) -> Tensor")
      .doc("Whether one of two elements is nonzero and the other is not.")
      .expand(expand_logical<"bitwise_xor">)
      .numbers(0)
      .expose(kEverywhere);
  r.op("logical_not(Tensor input) -> Tensor")
      .doc("Whether the element is zero.")
      .promote(Promotion::kCommon)
      .expand(expand_logical_not)
      .expose(kEverywhere);
}

}  // namespace tw::ops

// How a logical tensor lies on one axis of a placement, and the rules that say which layouts an op accepts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/dims.h"
#include "base/dtype.h"

namespace tw::sbp {

enum class Kind : uint8_t { kSplit, kBroadcast, kPartial };
enum class ReduceOp : uint8_t { kSum, kMax, kMin };

struct Sbp {
  Kind kind = Kind::kBroadcast;
  ReduceOp reduce = ReduceOp::kSum;  // of kPartial
  int dim = 0;                       // of kSplit
  int64_t unit = 1;                  // of kSplit: cut points are multiples of it
  std::vector<int64_t> sizes;        // of kSplit: stated sizes of the parts, instead of balanced ones

  friend bool operator==(const Sbp&, const Sbp&) = default;
};

inline Sbp split(int64_t dim, int64_t unit = 1) {
  return {Kind::kSplit, ReduceOp::kSum, static_cast<int>(dim), unit, {}};
}
inline Sbp split_as(int64_t dim, std::vector<int64_t> sizes) {
  return {Kind::kSplit, ReduceOp::kSum, static_cast<int>(dim), 1, std::move(sizes)};
}
inline Sbp broadcast() { return {}; }
inline Sbp partial(ReduceOp op = ReduceOp::kSum) { return {Kind::kPartial, op, 0, 1, {}}; }
std::string name_of(const Sbp& sbp);  // "S(0)", "S(1, unit=64)", "S(0, sizes=[3, 1])", "B", "P(sum)"
inline void append_text(std::string& out, const Sbp& sbp) { out += name_of(sbp); }

// One way to run an op on one axis: a layout for every input (lists flattened, absent ones B) and every
// output.
struct Signature {
  std::vector<Sbp> inputs;
  std::vector<Sbp> outputs;
};

// What a rule may look at: shapes, dtypes and attributes, never values.
class RuleContext {
 public:
  std::vector<Dims> inputs;
  std::vector<bool> present;
  std::vector<Dims> outputs;
  std::vector<DType> input_dtypes, output_dtypes;  // as many; those of absent inputs say nothing
  const void* attributes = nullptr;

  void add_input(const Dims& sizes, DType dtype);
  void add_absent_input();
  void add_output(const Dims& sizes, DType dtype);

  template <class A>
  const A& attrs() const {
    return *static_cast<const A*>(attributes);
  }
  // All inputs and outputs B: always sound, added by the framework to every op.
  Signature all_broadcast() const;
  void add(Signature signature) { signatures.push_back(std::move(signature)); }
  // `split_all(dim)`: the signature where every input and output is split at `dim` counted from the right end
  // of the shape (broadcasting alignment); inputs of size 1 or without that dim stay B.
  void add_aligned_split(int64_t output_dim);

  std::vector<Signature> signatures;
};

using Rule = void (*)(RuleContext&);

// Rules that many ops share.
void broadcast_only(RuleContext& c);        // e.g. data-dependent shapes
void elementwise(RuleContext& c);           // any split; never a pending reduction
void elementwise_linear(RuleContext& c);    // of one tensor (real, imag): P(sum) too
void elementwise_monotone(RuleContext& c);  // of one tensor, increasing: P(max) and P(min) too
void elementwise_additive(RuleContext& c);  // a + b, a - b: all P(sum) at once too
bool is_elementwise(Rule rule);             // one of these four, or of rules.h

// One axis of an einsum: a letter shared by operands and output is a split, a contracted letter gives P(sum).
// "mk,kn->mn"; a letter of size 1 in an operand is broadcast. Linear in each operand: one operand P(sum),
// others B.
void add_einsum(RuleContext& c, const char* equation);

}  // namespace tw::sbp

// Which layouts an op runs in, given where its inputs lie.
//
// Axis by axis: of the signatures that the op offers on one axis (all-B among them) the one whose inputs cost
// least to bring into it, counted in bytes sent; among equals the one that changes fewest inputs, and all-B
// last of all only where another is as cheap and changes less. The splits of a signature cut all operands at
// the same fractions, in multiples of its units: the fractions are those of an operand that lies split
// already, or balanced.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sbp/layout.h"

namespace tw::sbp {

struct Operand {
  Dims sizes;
  double bytes = 0;             // of the whole
  const NdSbp* lies = nullptr;  // null: absent, or a number that every device knows
};

// What is asked of output 0. Strict: it lies so, and so does input 0, which an op writes in place; otherwise
// it decides among signatures that cost the same.
struct Demand {
  const NdSbp* output = nullptr;
  bool strict = false;
};

struct Choice {
  std::vector<NdSbp> inputs, outputs;
};

// `signatures` are of one axis, without all-B. Nothing where a strict demand cannot be met.
std::optional<Choice> choose(const Placement& placement, const std::vector<Signature>& signatures,
                             std::span<const Operand> inputs, std::span<const Dims> outputs,
                             const Demand& demand = {});

// Bytes sent on an axis of `devices` devices to bring `bytes` bytes from one SBP to another. What becomes
// pending has to be reduced later, which counts as much as reducing it now.
double axis_cost(const Sbp& from, const Sbp& to, double bytes, int64_t devices);

}  // namespace tw::sbp

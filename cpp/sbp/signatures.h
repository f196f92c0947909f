// The layouts in which an op may run. A rule speaks of one axis of the placement; on several, each axis takes
// a signature of its own, whatever the others take: rules see the sizes of the whole.
//
// Where a signature splits several tensors, all are cut alike: see cutting.h.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sbp/layout.h"

namespace tw::sbp {

// What the rule adds, each once. Complex numbers have no order, so that no extreme of them is pending.
std::vector<Signature> rule_signatures(Rule rule, RuleContext context);
// All signatures on one axis: all B, and what the rule adds. A null rule adds nothing.
std::vector<Signature> signatures_of(Rule rule, RuleContext context);

// A tensor of an op: inputs are counted first (lists flattened, absent ones too), then outputs.
inline const Sbp& sbp_of(const Signature& signature, size_t tensor) {
  size_t inputs = signature.inputs.size();
  return tensor < inputs ? signature.inputs[tensor] : signature.outputs[tensor - inputs];
}

// `signature` with all of its splits cut where `like`, a layout of `tensor`, cuts that one on an axis.
// `sizes`: those of each tensor. None where `like` does not split the dim there that the signature splits, or
// cuts within a unit of it.
std::optional<Signature> cut_like(const Signature& signature, std::span<const Dims> sizes, size_t tensor,
                                  const Layout& like, size_t axis);

// Whether an op with these signatures runs on tensors that lie so: on every axis one of them says what each
// tensor is there, and its splits are cut at the same fractions on every device. All layouts are of one
// placement; null for absent inputs.
bool offers(std::span<const Signature> signatures, std::span<const Layout* const> layouts,
            std::span<const Dims> sizes);

}  // namespace tw::sbp

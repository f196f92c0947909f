// The layouts in which an op may run. A rule speaks of one axis of the placement; on several, each axis takes
// a signature of its own, whatever the others take: rules see the sizes of the whole.
//
// Where a signature splits several tensors, all are cut at the same fractions of their dims, so that parts
// that belong together lie on one device. As rules write them the splits are balanced, in the units that they
// demand; cut_like() carries the cuts that one of the tensors has already to the others: from S(0, unit=128)
// of 384 follows S(0, unit=2) of 6 heads, from S(0, sizes=[256, 128]) follows S(0, sizes=[4, 2]).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sbp/layout.h"

namespace tw::sbp {

// All signatures on one axis, each once: all B, and what the rule adds. A null rule adds nothing.
std::vector<Signature> signatures_of(Rule rule, RuleContext context);

// A tensor of an op: inputs are counted first (lists flattened, absent ones too), then outputs.
inline const Sbp& sbp_of(const Signature& signature, size_t tensor) {
  size_t inputs = signature.inputs.size();
  return tensor < inputs ? signature.inputs[tensor] : signature.outputs[tensor - inputs];
}

// `signature`, which splits `tensor` in the dim of `like`, with all of its splits cut where `like` cuts that
// one. `sizes`: those of each tensor. None where `like` cuts within a unit of the signature.
std::optional<Signature> cut_like(const Signature& signature, std::span<const Dims> sizes, size_t tensor,
                                  const Sbp& like);

// Whether an op with these signatures runs on tensors that lie so: on every axis one of them says what each
// tensor is there, and its splits are cut at the same fractions on every device. All layouts are of one
// placement; null for absent inputs.
bool offers(std::span<const Signature> signatures, std::span<const Layout* const> layouts,
            std::span<const Dims> sizes);

}  // namespace tw::sbp

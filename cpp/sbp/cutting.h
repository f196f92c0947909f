// Where the splits of a signature cut. All cut at the same fractions of their dims, so that parts that belong
// together lie on one device; rules write them balanced, in the units that they demand. fractions_of() reads
// the fractions off a tensor that is cut already, cut_at() carries them to all: from S(0, unit=128) of 384
// follows S(0, unit=2) of 6 heads, from S(0, sizes=[256, 128]) follows S(0, sizes=[4, 2]).
#pragma once

#include <optional>
#include <vector>

#include "sbp/layout.h"

namespace tw::sbp {

inline bool is_split(const Sbp& s) { return s.kind == Kind::kSplit; }

// Balanced in multiples of `unit` units of a signature, or that many of them for each device.
struct Fractions {
  int64_t unit = 1;
  std::vector<int64_t> sizes;
  friend bool operator==(const Fractions&, const Fractions&) = default;
};

// The length of a dim that an earlier axis has cut: it differs from device to device.
inline constexpr int64_t kUnknownLength = -1;

// The sizes of all parts.
std::vector<int64_t> part_sizes(const Sbp& split, int64_t length, int64_t parts);
// How `like` cuts a dim of this length among so many devices, counted in the units of `pattern`. None where
// it cuts within a unit, or another dim.
std::optional<Fractions> fractions_of(const Sbp& like, const Sbp& pattern, int64_t length, int64_t parts);
// What `pattern` splits of a dim of this length, at these fractions. The last unit may be short.
Sbp split_at(const Sbp& pattern, const Fractions& fractions, int64_t length);

// The signature with all of its splits at these fractions. length_of(tensor, dim): inputs are counted first,
// then outputs.
template <class LengthOf>
Signature cut_at(Signature signature, const Fractions& fractions, const LengthOf& length_of) {
  size_t tensor = 0;
  for (auto* list : {&signature.inputs, &signature.outputs})
    for (Sbp& s : *list) {
      if (is_split(s)) s = split_at(s, fractions, length_of(tensor, s.dim));
      tensor++;
    }
  return signature;
}

}  // namespace tw::sbp

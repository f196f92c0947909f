// How a global tensor lies: a placement, and for each of its axes an SBP. Axes nest in their order: the
// second cuts what the first left.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sbp/placement.h"
#include "sbp/sbp.h"

namespace tw::sbp {

using NdSbp = std::vector<Sbp>;
class Layout;
using LayoutRef = Ref<const Layout>;

// Interned: equal layouts are one object, which lives as long as the process. Two that differ may still put
// the same elements in the same places (see same_parts).
class Layout final : public RefCounted {
 public:
  PlacementRef placement;
  NdSbp sbp;  // one an axis

  bool has_partial() const;
  bool is_broadcast() const;  // on every axis
};

// Throws kPlacement when the number of SBPs is not that of axes, or one has a negative dim or unit below 1.
LayoutRef layout(const PlacementRef& placement, const NdSbp& sbp);
std::string name_of(const NdSbp& sbp);      // "S(0)" of one axis, "(S(0), B)" of several
std::string name_of(const Layout& layout);  // "cpu[[0, 1], [2, 3]] (S(0), B)"
inline void append_text(std::string& out, const Layout& layout) { out += name_of(layout); }

// Some elements of a dim: [first, first + size).
struct Cut {
  int64_t first = 0;
  int64_t size = 0;
  friend bool operator==(const Cut&, const Cut&) = default;
};
// The part number `index` of `parts` into which `split` cuts `length` elements. Balanced: the first ones get
// one unit more; what is left of a last unit counts as one. Throws kPlacement when stated sizes do not fit.
Cut cut(const Sbp& split, int64_t length, int64_t parts, int64_t index);

// A rectangle of the whole.
struct Box {
  Dims first;
  Dims sizes;
  friend bool operator==(const Box&, const Box&) = default;
};
// What the device at this position of the placement holds of a tensor with these sizes. Throws kPlacement
// when a dim that is split does not exist, or as cut() does.
Box box_of(const Layout& layout, const Dims& sizes, int64_t position);
// Throws what box_of throws for any position; `what` names the tensor or op in the message.
void check_layout(const Layout& layout, const Dims& sizes, const char* what);
// Both have one placement, every device holds the same box of both, and pending axes are the same: what
// differs is only how the cut points are written.
bool same_parts(const Layout& a, const Layout& b, const Dims& sizes);

}  // namespace tw::sbp

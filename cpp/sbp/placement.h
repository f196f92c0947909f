// Where a tensor lives: a kind of device and an n-d array of ranks, in the order given.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/dims.h"
#include "base/intrusive.h"

namespace tw::sbp {

class Placement;
using PlacementRef = Ref<const Placement>;

// Interned: equal placements are one object, which lives as long as the process. Safe to use from any thread.
class Placement final : public RefCounted {
 public:
  std::string type;            // "cpu", "cuda"
  Dims shape;                  // of the array of ranks; one entry an axis
  std::vector<int64_t> ranks;  // row-major

  int64_t axes() const { return static_cast<int64_t>(shape.size()); }
  // Devices are counted by their position in `ranks`.
  int64_t count() const { return static_cast<int64_t>(ranks.size()); }
  Dims coordinates(int64_t position) const;
  int64_t position_at(const Dims& coordinates) const;
  int64_t position_of(int64_t rank) const;  // -1: the rank is not in it
  // The positions that differ from this one in `axis` alone, in the order of their coordinates there.
  std::vector<int64_t> along(int64_t axis, int64_t position) const;
};

// Throws kPlacement when the shape does not count the ranks, there is none, or one is negative or stands
// twice.
PlacementRef placement(std::string_view type, const Dims& shape, const std::vector<int64_t>& ranks);
std::string name_of(const Placement& placement);  // "cpu[[0, 1], [2, 3]]"
inline void append_text(std::string& out, const Placement& placement) { out += name_of(placement); }

}  // namespace tw::sbp

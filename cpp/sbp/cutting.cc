#include "sbp/cutting.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tw::sbp {

std::vector<int64_t> part_sizes(const Sbp& split, int64_t length, int64_t parts) {
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < parts; i++) sizes.push_back(cut(split, length, parts, i).size);
  return sizes;
}

std::optional<Fractions> fractions_of(const Sbp& like, const Sbp& pattern, int64_t length, int64_t parts) {
  if (!is_split(like) || like.dim != pattern.dim) return std::nullopt;
  if (like.sizes.empty() && like.unit % pattern.unit == 0) return Fractions{like.unit / pattern.unit, {}};
  std::vector<int64_t> sizes = like.sizes;
  if (sizes.empty()) {
    if (length == kUnknownLength) return std::nullopt;
    sizes = part_sizes(like, length, parts);
  }
  int64_t total = std::accumulate(sizes.begin(), sizes.end(), int64_t{0}), point = 0;
  Fractions fractions;
  for (int64_t size : sizes) {
    point += size;
    if (point % pattern.unit != 0 && point != total) return std::nullopt;
    fractions.sizes.push_back((size + pattern.unit - 1) / pattern.unit);
  }
  int64_t units = std::accumulate(fractions.sizes.begin(), fractions.sizes.end(), int64_t{0});
  if (fractions.sizes == part_sizes(split(0), units, parts)) return Fractions{};
  return fractions;
}

Sbp split_at(const Sbp& pattern, const Fractions& fractions, int64_t length) {
  if (fractions.sizes.empty()) return split(pattern.dim, pattern.unit * fractions.unit);
  std::vector<int64_t> sizes;
  int64_t left = length == kUnknownLength ? std::numeric_limits<int64_t>::max() : length;
  for (int64_t units : fractions.sizes) {
    sizes.push_back(std::min(units * pattern.unit, left));
    left -= sizes.back();
  }
  return split_as(pattern.dim, std::move(sizes));
}

}  // namespace tw::sbp

#include "plan/owners.h"

#include <algorithm>

namespace tw::plan {

// Splits the range that `at` lies in.
void Owners::cut(int64_t at) {
  auto it = ranges_.lower_bound(at);
  if (it == ranges_.begin()) return;
  --it;
  if (it->second.end <= at) return;
  Range tail = it->second;
  it->second.end = at;
  ranges_.emplace(at, tail);
}

void Owners::set(int64_t begin, int64_t end, int owner) {
  if (begin >= end) return;
  cut(begin);
  cut(end);
  ranges_.erase(ranges_.lower_bound(begin), ranges_.lower_bound(end));
  ranges_.emplace(begin, Range{end, owner});
}

bool Owners::owned(int64_t begin, int64_t end, int owner) const {
  auto it = ranges_.upper_bound(begin);
  if (it != ranges_.begin()) --it;
  for (; begin < end; ++it) {
    if (it == ranges_.end() || it->first > begin || it->second.end <= begin || it->second.owner != owner)
      return false;
    begin = it->second.end;
  }
  return true;
}

bool Owners::free(int64_t begin, int64_t end) const {
  if (begin >= end) return true;
  auto it = ranges_.lower_bound(begin);
  if (it != ranges_.end() && it->first < end) return false;
  return it == ranges_.begin() || std::prev(it)->second.end <= begin;
}

void Owners::keep_common(const Owners& other) {
  Owners common;
  auto a = ranges_.begin();
  auto b = other.ranges_.begin();
  while (a != ranges_.end() && b != other.ranges_.end()) {
    if (a->second.owner == b->second.owner)
      common.set(std::max(a->first, b->first), std::min(a->second.end, b->second.end), a->second.owner);
    if (a->second.end < b->second.end)
      ++a;
    else
      ++b;
  }
  ranges_ = std::move(common.ranges_);
}

}  // namespace tw::plan

// Which value owns which bytes: a map from disjoint intervals to numbers.
#pragma once

#include <cstdint>
#include <map>

namespace tw::plan {

class Owners {
 public:
  struct Range {
    int64_t end;
    int owner;
  };
  // Bytes [begin, end) now belong to `owner`, whoever had them.
  void set(int64_t begin, int64_t end, int owner);
  // True when all of [begin, end) belongs to `owner`; an empty range does.
  bool owned(int64_t begin, int64_t end, int owner) const;
  // True when no byte of [begin, end) belongs to anybody.
  bool free(int64_t begin, int64_t end) const;
  void clear() { ranges_.clear(); }
  // Takes away what `other` does not give to the same owner.
  void keep_common(const Owners& other);

  // From begin to {end, owner}, in order; neighbours of one owner may be apart.
  const std::map<int64_t, Range>& ranges() const { return ranges_; }

 private:
  void cut(int64_t at);
  std::map<int64_t, Range> ranges_;
};

}  // namespace tw::plan

#pragma once

#include <cstdint>

namespace tw::ops {

struct SortAttrs {
  int64_t dim;
  bool descending;
  bool stable;  // sorting always is
};

struct TopkAttrs {
  int64_t k;
  int64_t dim;
  bool largest;
  bool sorted;
};

struct KthAttrs {
  int64_t k;  // from 1
  int64_t dim;
  bool keepdim;
};

}  // namespace tw::ops

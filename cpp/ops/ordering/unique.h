#pragma once

#include <cstdint>
#include <optional>

namespace tw::ops {

struct UniqueAttrs {
  bool consecutive;
};

struct BincountAttrs {
  int64_t minlength;
};

struct HistcAttrs {
  int64_t bins;
  double min;
  double max;  // min == max: the range of the data
};

struct SearchAttrs {
  bool out_int32;
  bool right;
};

}  // namespace tw::ops

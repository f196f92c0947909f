#pragma once

#include <cstdint>

namespace tw::ops {

struct EmbeddingBackwardAttrs {
  int64_t num_weights;
  int64_t padding_idx;  // a row that gets no gradient, or -1
  bool scale_grad_by_freq;
};

struct EmbeddingAttrs {
  int64_t padding_idx;
  bool scale_grad_by_freq;
};

struct RenormAttrs {
  double max_norm;
  double norm_type;
};

}  // namespace tw::ops

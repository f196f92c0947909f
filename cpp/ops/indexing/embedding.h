#pragma once

#include <cstdint>

namespace tw::ops {

struct EmbeddingBackwardAttrs {
  int64_t num_weights;
  int64_t padding_idx;  // a row that gets no gradient, or -1
  bool scale_grad_by_freq;
  // Where the rows are a part of a table: which is the first, and how many the whole has (-1: these are all).
  // Indices name rows of the whole; rows of other parts give zeros here.
  int64_t first_row;
  int64_t whole_rows;
};

struct EmbeddingAttrs {
  int64_t padding_idx;
  bool scale_grad_by_freq;
  int64_t first_row, whole_rows;
};

struct RenormAttrs {
  double max_norm;
  double norm_type;
};

}  // namespace tw::ops

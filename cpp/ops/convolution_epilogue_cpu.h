// What follows a float convolution in a static program, done to a piece of its result while that is in the
// cache, with the bits of the ops that it stands for: y = shift + y · scale, y + residual, relu(y).
#pragma once

#include <cstdint>

namespace tw::ops {

struct ConvEpilogue {
  const float* y;                                  // the whole result
  const float *shift = nullptr, *scale = nullptr;  // of each channel, both or none
  const float* residual = nullptr;                 // lies as y does
  bool relu = false;

  // Pixels of a result that lies channels-last: `channels` of each, from `channel` on, `step` floats apart.
  void on_pixels(float* at, int64_t pixels, int64_t step, int64_t channel, int64_t channels) const;
  // Planes of a row-major result, those of `channels` from `channel` on of one image.
  void on_planes(float* at, int64_t positions, int64_t channel, int64_t channels) const;
};

}  // namespace tw::ops

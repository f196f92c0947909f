#include "ops/convolution_epilogue_cpu.h"

#include "device/cpu/clones.h"

namespace tw::ops {

namespace {

// As addcmul, add and relu compute them, one after the other; `spread` is 0 where one channel has all
// numbers.
template <bool kScaled, bool kAdded, bool kRelu>
TW_INLINE void finish(float* y, const float* shift, const float* scale, const float* residual, int64_t count,
                      int64_t spread) {
  for (int64_t i = 0; i < count; i++) {
    float value = y[i];
    if (kScaled) value = shift[i * spread] + value * scale[i * spread];
    if (kAdded) value = value + residual[i];
    if (kRelu) value = value < 0.0f ? 0.0f : value;
    y[i] = value;
  }
}

template <int64_t kSpread>
TW_CLONES void finish_rows(const ConvEpilogue& e, float* at, int64_t rows, int64_t step, int64_t count,
                           int64_t channel, int64_t next_channel) {
  for (int64_t row = 0; row < rows; row++, at += step, channel += next_channel) {
    const float* shift = e.shift ? e.shift + channel : nullptr;
    const float* scale = e.scale ? e.scale + channel : nullptr;
    const float* residual = e.residual ? e.residual + (at - e.y) : nullptr;
    if (e.shift && e.residual && e.relu)
      finish<true, true, true>(at, shift, scale, residual, count, kSpread);
    else if (e.shift && e.relu)
      finish<true, false, true>(at, shift, scale, nullptr, count, kSpread);
    else if (e.shift && e.residual)
      finish<true, true, false>(at, shift, scale, residual, count, kSpread);
    else if (e.shift)
      finish<true, false, false>(at, shift, scale, nullptr, count, kSpread);
    else if (e.residual && e.relu)
      finish<false, true, true>(at, nullptr, nullptr, residual, count, kSpread);
    else if (e.residual)
      finish<false, true, false>(at, nullptr, nullptr, residual, count, kSpread);
    else if (e.relu)
      finish<false, false, true>(at, nullptr, nullptr, nullptr, count, kSpread);
  }
}

}  // namespace

void ConvEpilogue::on_pixels(float* at, int64_t pixels, int64_t step, int64_t channel,
                             int64_t channels) const {
  finish_rows<1>(*this, at, pixels, step, channels, channel, 0);
}

void ConvEpilogue::on_planes(float* at, int64_t positions, int64_t channel, int64_t channels) const {
  finish_rows<0>(*this, at, channels, positions, positions, channel, 1);
}

}  // namespace tw::ops

// float32 convolutions of 3x3 windows with stride 1 on channels-last tensors, by Winograd's F(2x2, 3x3)
// (Lavin and Gray, arXiv:1509.09308): four outputs of a tile of 4x4 inputs take 16 products of channels
// instead of 36. The transforms are sums and halves; measured against double, errors are about those of the
// direct sum (a test says so).
//
// Where an input or a sum is infinite or NaN the tile would spread it over outputs that it does not reach, so
// such results are thrown away, and the caller computes directly.
#pragma once

#include "ops/convolution_epilogue_cpu.h"
#include "ops/onednn_plan_cpu.h"

namespace tw::ops {

// Whether this is the way where x and y lie channels-last; so much faster that others are worth copying.
bool winograd_applies(ConvDirection direction, const ConvGeometry& g);

// As onednn_convolution. False where it does not apply, does not pay, or gave a number that is not finite.
bool winograd_convolution(ConvDirection direction, const ConvGeometry& g, const float* x, const float* w,
                          const float* bias, const float* y, float* result, const ConvEpilogue* then);

}  // namespace tw::ops

// float32 convolutions through oneDNN.
//
// oneDNN reads and writes tensors that lie channels-last directly. For row-major ones it works best on
// blocked layouts: to use these without paying for passes over memory, the images are cut into chunks that
// fit the second-level cache: a chunk is reordered, convolved and reordered back there, so memory sees each
// tensor once. Chunks run on our own pool, each on one thread (oneDNN's OpenMP never starts a team, so fork
// is safe), and are cut by shape alone: results do not depend on the number of threads. Floor: 2·N·O·I/g·K·P
// flops over the machine's peak.
#pragma once

#include "ops/convolution_epilogue_cpu.h"
#include "ops/onednn_plan_cpu.h"

namespace tw::ops {

// Tensors lie as the geometry says. kForward: y = conv(x, w) + bias (may be null). kInput: x = the transposed
// convolution of y. kWeight: w from x and y. Returns false where oneDNN has no implementation; nothing is
// written then. `then` (may be null) goes with kForward.
bool onednn_convolution(ConvDirection direction, const ConvGeometry& g, float* x, float* w, const float* bias,
                        float* y, const ConvEpilogue* then = nullptr);

}  // namespace tw::ops

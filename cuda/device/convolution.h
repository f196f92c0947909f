// One convolution by the vendor's library (cudnn/convolution.cc); the emulator has a plain function in its
// place.
#pragma once

#include "base/dtype.h"
#include "cuda/common/runtime.h"
#include "ops/convolution_geometry.h"

namespace tw::cuda {

// x, w and y lie as the geometry says, w channels-last exactly where x and y do; the direction says which of
// them is written, all of it. `dtype` is a floating one; sums are in float for float and the half types, in
// double for double. No tensor is empty.
struct Convolution {
  const char* op;
  ops::ConvDirection direction;
  DType dtype;
  ops::ConvGeometry g;
  void *x, *w, *y;
};

// Queues it on the stream of the current device; throws kDevice, also where the library is not there.
void run_convolution(const Convolution& convolution, cudaStream_t stream);

}  // namespace tw::cuda

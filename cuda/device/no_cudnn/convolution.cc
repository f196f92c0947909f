// In place of cudnn/ where its headers were not there when the library was built.
#include "cuda/device/convolution.h"

#include "base/error.h"

namespace tw::cuda {

void run_convolution(const Convolution& convolution, cudaStream_t) {
  TW_FAIL(kDevice, convolution.op,
          ": this library was built without cuDNN; install nvidia-cudnn-cu13 and build it again");
}

}  // namespace tw::cuda

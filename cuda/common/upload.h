// Small arrays that the host makes for a kernel.
#pragma once

#include <span>

#include "cuda/common/launch.h"
#include "cuda/device/recording.h"
#include "cuda/device/scratch.h"

namespace tw::cuda {

// Numbers of the host's memory, copied to the current device in the order of the current stream; the host's
// may go once this is made, since the runtime stages what is not pinned.
template <class T>
class Uploaded {
 public:
  Uploaded(std::span<const T> values, const char* op) : memory_(values.size_bytes()) {
    refuse_recording(op);  // they would be read again in every run
    if (!values.empty())
      check(cudaMemcpyAsync(memory_.as<T>(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice,
                            current_stream()),
            op);
  }
  const T* data() const { return memory_.as<const T>(); }

 private:
  DeviceScratch memory_;
};

}  // namespace tw::cuda

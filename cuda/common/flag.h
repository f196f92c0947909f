// What a kernel tells the host: that something was wrong. Reading it waits for the stream.
#pragma once

#include "cuda/common/launch.h"
#include "cuda/device/scratch.h"

namespace tw::cuda {

class DeviceFlag {
 public:
  DeviceFlag() : memory_(sizeof(int)) {
    check(cudaMemsetAsync(memory_.as<int>(), 0, sizeof(int), current_stream()), "DeviceFlag");
  }
  int* data() const { return memory_.as<int>(); }
  bool raised() const {
    int value = 0;
    check(cudaMemcpyAsync(&value, memory_.as<int>(), sizeof(int), cudaMemcpyDefault, current_stream()),
          "DeviceFlag");
    check(cudaStreamSynchronize(current_stream()), "DeviceFlag");
    return value != 0;
  }

 private:
  DeviceScratch memory_;
};

// Any number of threads may do so: all write the same.
TW_DEVICE void raise_flag(int* flag) { *flag = 1; }

}  // namespace tw::cuda

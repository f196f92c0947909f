// What a kernel tells the host: that something was wrong. Reading it waits for the stream.
#pragma once

#include "cuda/common/launch.h"
#include "cuda/device/failures.h"
#include "cuda/device/scratch.h"

namespace tw::cuda {

// An element of device memory, once what was queued before has run.
template <class T>
T read_one(const T* from) {
  T value;
  check(cudaMemcpyAsync(&value, from, sizeof(T), cudaMemcpyDefault, current_stream()), "read_one");
  check(cudaStreamSynchronize(current_stream()), "read_one");
  check_failures();
  return value;
}

class DeviceFlag {
 public:
  DeviceFlag() : memory_(sizeof(int)) {
    check(cudaMemsetAsync(memory_.as<int>(), 0, sizeof(int), current_stream()), "DeviceFlag");
  }
  int* data() const { return memory_.as<int>(); }
  bool raised() const { return read_one(memory_.as<const int>()) != 0; }

 private:
  DeviceScratch memory_;
};

// Which element was wrong: the first of them, as on the CPU.
class FirstWrong {
 public:
  FirstWrong() : memory_(sizeof(int64_t)) {
    check(cudaMemsetAsync(memory_.as<int64_t>(), 0xff, sizeof(int64_t), current_stream()), "FirstWrong");
  }
  unsigned long long* data() const { return memory_.as<unsigned long long>(); }
  // -1: none.
  int64_t position() const { return read_one(memory_.as<const int64_t>()); }

 private:
  DeviceScratch memory_;
};

TW_DEVICE void note_wrong(unsigned long long* first, int64_t position) {
  atomicMin(first, static_cast<unsigned long long>(position));
}

// Any number of threads may do so: all write the same.
TW_DEVICE void raise_flag(int* flag) { *flag = 1; }

}  // namespace tw::cuda

// full. Bytes: the output once. Floor: bytes over the bandwidth.
//
// Per element: 4 bytes and 0 operations (full, float32).
#include "ops/creation/full.h"

#include <cstring>

#include "cuda/common/pointwise.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

template <class T>
struct Bits {
  T value;
  TW_DEVICE T operator()() const { return value; }
};

void full_kernel(KernelContext& k) {
  // Elements move as bytes of their size.
  alignas(16) char bytes[16] = {};
  dispatch_all(k.out().dtype, k.op, [&]<class T>() {
    T value = T(k.attrs<ops::FullAttrs>().fill_value.to<compute_t<T>>());
    std::memcpy(bytes, &value, sizeof(T));
  });
  dispatch_bytes(k.out().dtype, [&]<class T>() {
    Bits<T> bits;
    std::memcpy(&bits.value, bytes, sizeof(T));
    pointwise_over(Types<T>{}, Types<>{}, {&k.out()}, {}, k.op, bits);
  });
}

}  // namespace

void kernels_full(device::KernelTable& table) { table.add("full", full_kernel); }

}  // namespace tw::cuda

// What CUDA gives to device code, for the host's compiler: qualifiers, indices, barriers, warp calls,
// atomics.
//
// Functions that touch memory on a kernel's behalf carry no sanitizer hooks, since they check for themselves.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <tuple>
#include <type_traits>

#include "tests/cuda/emulator/access.h"
#include "tests/cuda/emulator/block.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define TW_UNROLL _Pragma("GCC unroll 8")
#define TW_UNCHECKED __attribute__((no_sanitize("thread"), noinline))

#define threadIdx (::tw::cuda::emulator::g_now.thread)
#define blockIdx (::tw::cuda::emulator::g_now.block)
#define blockDim (::tw::cuda::emulator::g_now.block_size)
#define gridDim (::tw::cuda::emulator::g_now.grid_size)

// The variable that stands for the array has an address of its own in every instance of a template.
#define TW_SHARED(type, name, count)                                        \
  static char name##_key;                                                   \
  type* const name = static_cast<type*>(::tw::cuda::emulator::shared_array( \
      &name##_key, sizeof(type) * static_cast<size_t>(count), alignof(type)))

inline void __syncthreads(std::source_location where = std::source_location::current()) {
  tw::cuda::emulator::wait(tw::cuda::emulator::Wait::kBlock, where);
}

inline void __syncwarp(unsigned mask = 0xffffffffu,
                       std::source_location where = std::source_location::current()) {
  if (mask != 0xffffffffu) tw::cuda::emulator::fail("calls __syncwarp with a mask that is not full");
  tw::cuda::emulator::wait(tw::cuda::emulator::Wait::kWarp, where);
}

namespace tw::cuda::emulator {

template <class T>
TW_UNCHECKED T shuffle(T value, unsigned mask, int lane, std::source_location where) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  const uint64_t* of_lanes = exchange(bits, mask, where);
  int self = static_cast<int>(g_now.thread.x) % kWarp;
  std::memcpy(&value, &of_lanes[lane >= 0 && lane < kWarp ? lane : self], sizeof(T));
  return value;
}

TW_UNCHECKED inline unsigned ballot(unsigned mask, bool value, std::source_location where) {
  const uint64_t* of_lanes = exchange(value, mask, where);
  unsigned bits = 0;
  for (int lane = 0; lane < kWarp; lane++) bits |= static_cast<unsigned>(of_lanes[lane] != 0) << lane;
  return bits;
}

template <class T>
TW_UNCHECKED T add_atomically(T* at, T value) {
  check_atomic(at, sizeof(T));
  T before = *at;
  *at = before + value;
  return before;
}

}  // namespace tw::cuda::emulator

#define TW_WHERE std::source_location where = std::source_location::current()

template <class T>
T __shfl_sync(unsigned mask, T value, int lane, TW_WHERE) {
  return tw::cuda::emulator::shuffle(value, mask, lane, where);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, TW_WHERE) {
  return tw::cuda::emulator::shuffle(value, mask, (static_cast<int>(threadIdx.x) % 32) ^ lanes, where);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, TW_WHERE) {
  return tw::cuda::emulator::shuffle(value, mask, static_cast<int>(threadIdx.x % 32 + by), where);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, TW_WHERE) {
  return tw::cuda::emulator::shuffle(value, mask, static_cast<int>(threadIdx.x % 32) - static_cast<int>(by),
                                     where);
}
inline unsigned __ballot_sync(unsigned mask, bool value, TW_WHERE) {
  return tw::cuda::emulator::ballot(mask, value, where);
}
inline bool __any_sync(unsigned mask, bool value, TW_WHERE) {
  return tw::cuda::emulator::ballot(mask, value, where) != 0;
}
inline bool __all_sync(unsigned mask, bool value, TW_WHERE) {
  return tw::cuda::emulator::ballot(mask, value, where) == 0xffffffffu;
}

template <class T>
T atomicAdd(T* at, T value) {
  return tw::cuda::emulator::add_atomically(at, value);
}

template <class T>
TW_UNCHECKED T atomicMin(T* at, T value) {
  tw::cuda::emulator::check_atomic(at, sizeof(T));
  T before = *at;
  if (value < before) *at = value;
  return before;
}
template <class T>
TW_UNCHECKED T atomicMax(T* at, T value) {
  tw::cuda::emulator::check_atomic(at, sizeof(T));
  T before = *at;
  if (value > before) *at = value;
  return before;
}

inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }

inline float __uint_as_float(unsigned bits) { return __builtin_bit_cast(float, bits); }
inline void sincospi(double x, double* sine, double* cosine) {
  *sine = std::sin(x * 3.141592653589793);
  *cosine = std::cos(x * 3.141592653589793);
}
inline void sincospif(float x, float* sine, float* cosine) {
  *sine = static_cast<float>(std::sin(x * 3.141592653589793));
  *cosine = static_cast<float>(std::cos(x * 3.141592653589793));
}
// exp(x²) erfc(x), for x that long double has room for.
inline double erfcx(double x) {
  auto wide = static_cast<long double>(x);
  return static_cast<double>(std::exp(wide * wide) * std::erfc(wide));
}
inline float erfcxf(float x) { return static_cast<float>(erfcx(static_cast<double>(x))); }
// The inverse of erf; in functions.cc.
double erfinv(double x);
float erfinvf(float x);

namespace tw::cuda {

template <class T>
T* dynamic_shared() {
  return static_cast<T*>(emulator::dynamic_shared_array());
}

inline void note_wide_access(const void* data, size_t size_bytes) {
  emulator::check_alignment(data, size_bytes);
}

// Two warps, so that what passes between warps is tested; more would only take longer.
constexpr int block_threads(int wanted) { return wanted < 64 ? wanted : 64; }

inline constexpr bool kIs90a = true, kHas90a = true;

namespace emulator {

// The kernel gets copies of the arguments, as on a device.
template <class... Params>
void launch(Shape shape, void (*kernel)(Params...), Params... params) {
  struct Call {
    void (*kernel)(Params...);
    std::tuple<Params...> params;
  };
  Call call{kernel, {params...}};
  run(
      shape,
      [](const void* data) {
        const Call& call = *static_cast<const Call*>(data);
        std::apply(call.kernel, call.params);
      },
      &call, sizeof(call));
}

}  // namespace emulator
}  // namespace tw::cuda

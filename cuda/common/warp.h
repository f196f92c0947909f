// What the lanes of a warp, and the threads of a block, tell each other. All lanes take part in every call.
#pragma once

#include "cuda/common/platform.h"

namespace tw::cuda {

TW_DEVICE int lane_index() { return static_cast<int>(threadIdx.x) & (kLanes - 1); }
TW_DEVICE int warp_index() { return static_cast<int>(threadIdx.x) / kLanes; }

template <class T>
TW_DEVICE T shuffle_xor(T value, int lanes) {
  return __shfl_xor_sync(kFullMask, value, lanes);
}

template <class T>
TW_DEVICE T shuffle_from(T value, int lane) {
  return __shfl_sync(kFullMask, value, lane);
}

TW_DEVICE bool any_lane(bool value) { return __any_sync(kFullMask, value); }
TW_DEVICE bool all_lanes(bool value) { return __all_sync(kFullMask, value); }

// Every lane gets the values of all lanes combined, by a fixed tree.
template <class T, class Combine>
TW_DEVICE T warp_reduce(T value, Combine combine) {
  TW_UNROLL
  for (int lanes = kLanes / 2; lanes > 0; lanes /= 2) value = combine(value, shuffle_xor(value, lanes));
  return value;
}

// Every thread of a block of kThreads gets the values of its warps, which the lanes of each agree on,
// combined by a fixed tree. `none` changes nothing when combined. May be called again at once: a barrier
// stands at both ends.
template <int kThreads, class T, class Combine>
TW_DEVICE T reduce_warps(T value, T none, Combine combine) {
  static_assert(kThreads % kLanes == 0 && kThreads / kLanes <= kLanes);
  if constexpr (kThreads > kLanes) {
    constexpr int kWarps = kThreads / kLanes;
    TW_SHARED(T, of_warps, kWarps);
    if (lane_index() == 0) of_warps[warp_index()] = value;
    __syncthreads();
    value = warp_reduce(lane_index() < kWarps ? of_warps[lane_index()] : none, combine);
    __syncthreads();
  }
  return value;
}

// The same of the values of all threads.
template <int kThreads, class T, class Combine>
TW_DEVICE T block_reduce(T value, T none, Combine combine) {
  return reduce_warps<kThreads>(warp_reduce(value, combine), none, combine);
}

// The same among the kGroup threads of a warp or of the whole block.
template <int kGroup, class T, class Combine>
TW_DEVICE T group_reduce(T value, T none, Combine combine) {
  if constexpr (kGroup == kLanes)
    return warp_reduce(value, combine);
  else
    return block_reduce<kGroup>(value, none, combine);
}

}  // namespace tw::cuda

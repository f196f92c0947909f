// Running combinations over the threads of a warp or a block, in their order.
#pragma once

#include "cuda/common/warp.h"

namespace tw::cuda {

// The value of the lane `by` before; a lane's own where there is none. Structs overload it.
template <class T>
TW_DEVICE T shuffle_up(T value, int by) {
  return __shfl_up_sync(kFullMask, value, static_cast<unsigned>(by));
}

// What a scan tells a thread: the values before its own combined, and those of all.
template <class T>
struct Scanned {
  T before, all;
};

// combine(a, b): a comes first; `none` changes nothing. kGroup: 1, a warp, or all threads of the block. May
// be called again at once: a barrier stands at both ends.
template <int kGroup, class T, class Combine>
TW_DEVICE Scanned<T> group_scan(T value, T none, Combine combine) {
  if constexpr (kGroup == 1) {
    return {none, value};
  } else {
    T upto = value;
    TW_UNROLL
    for (int by = 1; by < kLanes; by *= 2) {
      T earlier = shuffle_up(upto, by);
      if (lane_index() >= by) upto = combine(earlier, upto);
    }
    T before = shuffle_up(upto, 1);
    if (lane_index() == 0) before = none;
    if constexpr (kGroup == kLanes) {
      return {before, shuffle_from(upto, kLanes - 1)};
    } else {
      constexpr int kWarps = kGroup / kLanes;
      TW_SHARED(T, of_warps, kWarps);
      if (lane_index() == kLanes - 1) of_warps[warp_index()] = upto;
      __syncthreads();
      T earlier = none, all = none;
      for (int warp = 0; warp < kWarps; warp++) {
        if (warp == warp_index()) earlier = all;
        all = combine(all, of_warps[warp]);
      }
      __syncthreads();
      return {combine(earlier, before), all};
    }
  }
}

}  // namespace tw::cuda

// The thread pool that kernels share, and the rule for how work is cut.
#pragma once

#include <cstdint>

#include "base/function_ref.h"

namespace tw::device {

namespace detail {
void parallel_pieces(int64_t begin, int64_t end, int64_t grain, FunctionRef<void(int64_t, int64_t)> body);
}

// Calls body(first, last) over pieces that cover [begin, end); pieces hold at least `grain` items where
// possible. Runs on the caller alone when there is one piece, when called from inside a piece, or with one
// thread. Blocks until every piece is done; rethrows the first exception. How the range is cut may depend on
// the number of threads, so a body must give every item the same result wherever the cuts fall.
template <class Body>
inline void parallel_for(int64_t begin, int64_t end, int64_t grain, Body&& body) {
  if (end - begin < 2 * grain) {
    if (begin < end) body(begin, end);
    return;
  }
  detail::parallel_pieces(begin, end, grain, body);
}

// Threads a kernel may use; at first the usable cores of the process (affinity mask and cgroup quota), or
// OMP_NUM_THREADS where that is set. In a forked child it is 1 and stays 1: the pool's threads are not
// copied.
int num_threads();
void set_num_threads(int count);  // throws kValue when count < 1

}  // namespace tw::device

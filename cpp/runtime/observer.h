// Sees when launches and firings begin and end, for traces.
#pragma once

#include "base/clock.h"

namespace tw::runtime {

class Observer {
 public:
  virtual ~Observer() = default;
  // Called by the thread that ran it, after it ended; several threads call at a time. Times are now_ns().
  virtual void fired(int actor, int64_t firing, int64_t begin_ns, int64_t end_ns) = 0;
  virtual void launched(int actor, int64_t firing, int launch, int64_t begin_ns, int64_t end_ns) {
    static_cast<void>(actor), static_cast<void>(firing), static_cast<void>(launch);
    static_cast<void>(begin_ns), static_cast<void>(end_ns);
  }
};

}  // namespace tw::runtime

// Work that was posted and will be complete later.
#pragma once

#include <cstdint>

#include "base/intrusive.h"

namespace tw::comm {

constexpr int64_t kGroupTimeout = -1;  // the group's own time-out

// Nobody works on requests behind the scenes: `test` and `wait` do, for all requests of the process. Both may
// be called on any thread, and again after completion. When one throws kComm, the request has failed for
// good, its group until it begins anew, and no memory of either is touched any more.
class Request : public RefCounted {
 public:
  // True once the call is complete: outputs hold results, inputs may be written. Never blocks.
  virtual bool test() = 0;
  // Blocks until then. When `timeout_ms` run out, throws kComm, which names the call, the group and who is
  // late.
  virtual void wait(int64_t timeout_ms = kGroupTimeout) = 0;
  // Of what posts in several rounds, one when another is complete: has posted the last when this returns;
  // waits for those before. So that what is posted next comes after all of them, in every process.
  virtual void post_all() {}
};

// Called now and then by waits that last, on the waiting thread; what it throws ends the wait, not the
// request.
void set_interrupt_check(void (*check)());

}  // namespace tw::comm

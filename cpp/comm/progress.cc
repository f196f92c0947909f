#include "comm/progress.h"

#include <algorithm>

#include "comm/fabric.h"

namespace tw::comm {

namespace {

// For a process without others.
Doorbell& local_bell() {
  static auto* bell = new Doorbell;
  return *bell;
}

// Everything moves by `done` and by the fabric's own list.
class Nothing final : public Active {
 public:
  bool advance() override { return false; }
};

bool sleep_until(FunctionRef<bool()> done, int64_t timeout_ms) {
  Doorbell& bell = local_bell();
  int64_t deadline = now_ns() + timeout_ms * 1'000'000;
  while (!done()) {
    int64_t left = deadline - now_ns();
    if (left <= 0) return false;
    bell.enter();
    uint32_t seen = bell.rings.load(std::memory_order_seq_cst);
    bool over = done();
    if (!over) bell.sleep(seen, left);
    bell.leave();
    if (over) return true;
  }
  return true;
}

}  // namespace

bool progress_until(FunctionRef<bool()> done, int64_t timeout_ms) {
  Nothing nothing;
  if (Fabric* others = fabric()) return others->wait(nothing, timeout_ms, done, [] {});
  return sleep_until(done, timeout_ms);
}

int cores_of_process(int usable) {
  Fabric* others = fabric();
  return others ? std::min(usable, others->cores()) : usable;
}

void wake_progress() {
  if (Fabric* others = fabric()) others->doorbell().ring();
  local_bell().ring();
}

}  // namespace tw::comm

#include "comm/fabric.h"

#include <unistd.h>

namespace tw::comm {

void Fabric::add(Ref<Group> group, Active* active) {
  std::lock_guard lock(mutex_);
  active_.push_back(active);
  kept_.push_back(std::move(group));
}

bool Fabric::advance_all() {
  std::lock_guard lock(mutex_);
  bool moved = false;
  for (Active* active : active_) moved |= active->advance();
  return moved;
}

bool Fabric::may_sleep() {
  if (!watcher_) return true;
  std::lock_guard lock(mutex_);
  bool may = true;
  for (Active* active : active_) may &= active->may_sleep();
  return may;
}

// The system sends on what a process leaves behind, unless something came for it that it has not read.
void Fabric::leave() {
  if (!watcher_ || getpid() != pid_) return;
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  for (int64_t deadline = now_ns() + 2'000'000'000; now_ns() < deadline; usleep(500)) {
    bool drained = true;
    for (Active* active : active_) drained &= active->drain();
    if (drained) return;
  }
}

}  // namespace tw::comm

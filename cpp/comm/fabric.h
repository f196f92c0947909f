// This process's connections to the other processes of the job, and its waiting.
//
// Requests make progress inside `wait`: a short spin while the processes of the machine number no more than
// its cores, then sleep on the process's doorbell, which processes of the machine ring, and the watcher of
// connections to others; every 100 ms a look whether somebody has died.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "comm/group.h"
#include "comm/link.h"
#include "comm/lobby.h"
#include "comm/rendezvous.h"
#include "comm/watcher.h"

namespace tw::comm {

class UcxWorkers;

// What makes progress when somebody waits.
class Active {
 public:
  // Does what can be done without waiting; true if that was something. Skips when another thread is at it.
  virtual bool advance() = 0;
  // For a process that is about to end: drops what has come; whether others will get all that was written to
  // them.
  virtual bool drain() { return true; }
  // Before a thread sleeps: what comes from now on wakes it; false when something has come already.
  virtual bool may_sleep() { return true; }

 protected:
  ~Active() = default;
};

class Fabric {
 public:
  // Meets the other processes and connects to them.
  static std::unique_ptr<Fabric> make(const JobOptions& options);

  const World& world() const { return *world_; }
  Peer& peer(int process) { return *peers_[process]; }  // another one than this
  int cores() const { return cores_; }
  Doorbell& doorbell() { return *reinterpret_cast<Doorbell*>(doorbell_.data()); }

  // Advanced from now on whenever anybody waits; kept for good.
  void add(Ref<Group> group, Active* active);
  // Blocks until `done()` or the time is over; false then. `done` is not asked again once it has said yes: it
  // may take what it has found. `first` is advanced before others. `check` is
  // called now and then while nothing moves, to look at peers.
  template <class Done, class Check>
  bool wait(Active& first, int64_t timeout_ms, Done done, Check check);
  // Before the process ends: waits a little until other machines have what was written to them.
  void leave();

 private:
  friend class FabricMaker;
  Fabric() = default;
  bool advance_all();
  bool may_sleep();

  std::unique_ptr<World> world_;
  Descriptor doorbell_memory_;
  Mapping doorbell_;
  std::unique_ptr<Watcher> watcher_;  // null in a job on one machine, as is what follows
  std::unique_ptr<Lobby> lobby_;
  std::shared_ptr<UcxWorkers> workers_;
  std::vector<std::unique_ptr<Peer>> peers_;  // by process; null for this one
  int cores_ = 0;       // of those that the processes of this machine use, as many as there are for each
  int pid_ = getpid();  // children of a fork have no connections
  std::mutex mutex_;
  std::vector<Active*> active_;
  std::vector<Ref<Group>> kept_;
};

// The process's own, or null in a job of one process.
Fabric* fabric();
// Begins a job; throws kRuntime in a job of several processes.
void init_job(const JobOptions& options);
// Begins the job of the environment, with one device a process, unless one has begun.
void begin_job(int64_t timeout_ms);

template <class Done, class Check>
bool Fabric::wait(Active& first, int64_t timeout_ms, Done done, Check check) {
  constexpr int64_t kSpinNs = 60'000, kNapNs = 100'000'000;
  int64_t now = now_ns(), deadline = now + timeout_ms * 1'000'000,
          spin_until = cores_ > 0 ? now + kSpinNs : now;
  for (int turn = 1;; turn++) {
    bool moved = first.advance();
    if (turn % 8 == 0) moved |= advance_all();
    if (done()) return true;
    now = now_ns();
    if (moved) spin_until = cores_ > 0 ? now + kSpinNs : now;
    if (moved || now < spin_until) continue;
    Doorbell& bell = doorbell();
    bell.enter();
    uint32_t seen = bell.rings.load(std::memory_order_seq_cst);
    if (watcher_) watcher_->clear();
    moved = advance_all();
    bool over = done();
    if (!over && !moved && may_sleep()) {
      if (watcher_) watcher_->arm();
      bell.sleep(seen, std::max<int64_t>(std::min(kNapNs, deadline - now), 1));
    }
    bell.leave();
    if (over || done()) return true;
    int64_t woken = now_ns();
    if (woken - now >= kNapNs / 2 || woken >= deadline) {
      check();
      if (done()) return true;
      if (woken >= deadline) return false;
    }
    spin_until = cores_ > 0 ? woken + kSpinNs : woken;
  }
}

}  // namespace tw::comm

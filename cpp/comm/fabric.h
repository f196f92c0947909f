// This process's connections to the other processes of the job, and its waiting.
//
// To each process of its machine there is a socket: it carries the memory of links, and its end tells that
// the other one is gone. Requests make progress inside `wait`: a short spin while the processes number no
// more than the cores, then sleep on the process's doorbell, looking every 100 ms whether somebody has died.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "comm/group.h"
#include "comm/link.h"
#include "comm/rendezvous.h"
#include "comm/socket.h"

namespace tw::comm {

// What makes progress when somebody waits.
class Active {
 public:
  // Does what can be done without waiting; true if that was something. Skips when another thread is at it.
  virtual bool advance() = 0;

 protected:
  ~Active() = default;
};

class Peer {
 public:
  Peer(int process, Descriptor socket, int pid);
  // The first things that either side sends: its doorbell.
  void send_doorbell(int mine);
  void take_doorbell(int64_t deadline_ns);
  Doorbell& doorbell() { return *reinterpret_cast<Doorbell*>(doorbell_.data()); }
  int process() const { return process_; }

  // Memory of a group: sent by the process with the lower number, taken when it has come.
  void send_memory(uint64_t group, int fd);
  bool take_memory(uint64_t group, Descriptor* memory);
  // Whether the process has ended. What it has written before is still there.
  bool gone();

 private:
  void receive();

  int process_;
  Descriptor socket_, pid_;
  Mapping doorbell_;
  std::map<uint64_t, Descriptor> memories_;
  bool gone_ = false;
  std::mutex mutex_;
};

class Fabric {
 public:
  // Meets the other processes and connects to those of this machine.
  static std::unique_ptr<Fabric> make(const JobOptions& options);

  const World& world() const { return *world_; }
  Peer& peer(int process);  // throws kComm for a process of another machine
  Doorbell& doorbell() { return *reinterpret_cast<Doorbell*>(doorbell_.data()); }

  // Advanced from now on whenever anybody waits; kept for good.
  void add(Ref<Group> group, Active* active);
  // Blocks until `done()` or the time is over; false then. `first` is advanced before others. `check` is
  // called now and then while nothing moves, to look at peers.
  template <class Done, class Check>
  bool wait(Active& first, int64_t timeout_ms, Done done, Check check);

 private:
  Fabric() = default;
  bool advance_all();

  std::unique_ptr<World> world_;
  std::vector<std::unique_ptr<Peer>> peers_;  // by process; null for this one and those of other machines
  Descriptor doorbell_memory_;
  Mapping doorbell_;
  bool spins_ = false;
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
  int64_t now = now_ns(), deadline = now + timeout_ms * 1'000'000, spin_until = spins_ ? now + kSpinNs : now;
  for (int turn = 1;; turn++) {
    bool moved = first.advance();
    if (turn % 8 == 0) moved |= advance_all();
    if (done()) return true;
    now = now_ns();
    if (moved) spin_until = spins_ ? now + kSpinNs : now;
    if (moved || now < spin_until) continue;
    Doorbell& bell = doorbell();
    bell.enter();
    uint32_t seen = bell.rings.load(std::memory_order_seq_cst);
    moved = advance_all();
    if (!done() && !moved) bell.sleep(seen, std::max<int64_t>(std::min(kNapNs, deadline - now), 1));
    bell.leave();
    if (done()) return true;
    int64_t woken = now_ns();
    if (woken - now >= kNapNs / 2 || woken >= deadline) {
      check();
      if (done()) return true;
      if (woken >= deadline) return false;
    }
    spin_until = spins_ ? woken + kSpinNs : woken;
  }
}

}  // namespace tw::comm

// A process of this machine: a socket carries the memory of links, and its end tells that the process is
// gone.
#pragma once

#include <map>
#include <mutex>

#include "comm/ring_link.h"

namespace tw::comm {

class NearPeer final : public Peer {
 public:
  NearPeer(int process, Descriptor socket, int pid);
  Transport transport() const override { return Transport::kMemory; }
  // The first things that either side sends: its doorbell.
  void send_doorbell(int mine);
  void take_doorbell(int64_t deadline_ns);

  std::unique_ptr<Link> make_link(uint64_t group) override;
  std::unique_ptr<Link> take_link(uint64_t group) override;
  bool gone() override;
  bool lost() override { return gone(); }

 private:
  void receive();
  Doorbell& doorbell() { return *reinterpret_cast<Doorbell*>(doorbell_.data()); }

  Descriptor socket_, pid_;
  Mapping doorbell_;
  std::map<uint64_t, Descriptor> memories_;  // of groups
  bool gone_ = false;
  std::mutex mutex_;
};

}  // namespace tw::comm

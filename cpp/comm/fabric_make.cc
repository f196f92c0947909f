// How a fabric comes about: the rendezvous, then a connection to each process.
#include <unistd.h>

#include <algorithm>
#include <map>
#include <random>
#include <string_view>

#include "base/error.h"
#include "comm/fabric.h"
#include "comm/far_peer.h"
#include "comm/near_peer.h"
#include "comm/socket.h"
#include "comm/transport.h"
#include "comm/ucx_worker.h"

namespace tw::comm {

namespace {

std::string unix_name(uint64_t number) { return cat("thalweg-", number); }

uint64_t random_number() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

// Hosts numbered in the order of their first processes, ranks one after the other.
std::vector<Process> processes_of(const std::vector<Arrival>& arrivals) {
  std::vector<Process> processes;
  std::map<std::string_view, int> hosts;
  int rank = 0;
  for (const Arrival& arrival : arrivals) {
    int host = hosts.try_emplace(arrival.host, static_cast<int>(hosts.size())).first->second;
    processes.push_back({rank, arrival.devices, host});
    rank += arrival.devices;
  }
  return processes;
}

}  // namespace

class FabricMaker {
 public:
  explicit FabricMaker(const JobOptions& options)
      : options_(options), deadline_(now_ns() + options.timeout_ms * 1'000'000), fabric_(new Fabric) {}

  std::unique_ptr<Fabric> make() {
    uint64_t name = random_number();
    listener_ = listen_unix(unix_name(name));
    fabric_->lobby_ = std::make_unique<Lobby>();
    Arrival mine = describe(options_, name);
    mine.port = fabric_->lobby_->port();
    arrivals_ = meet(options_, mine);
    fabric_->world_ = std::make_unique<World>(processes_of(arrivals_), options_.process);
    fabric_->doorbell_memory_ = make_shared_memory(sizeof(Doorbell));
    fabric_->doorbell_ = Mapping(fabric_->doorbell_memory_.get(), sizeof(Doorbell));
    fabric_->peers_.resize(arrivals_.size());
    connect_near();
    if (fabric_->world_->host_count() > 1)
      connect_far();
    else
      fabric_->lobby_ = nullptr;
    return std::move(fabric_);
  }

 private:
  bool is_near(int process) const {
    std::span<const Process> processes = fabric_->world_->processes();
    return processes[process].host == processes[options_.process].host;
  }

  // A process calls those before it and is called by those after it.
  void connect_near() {
    std::vector<std::unique_ptr<NearPeer>> peers(arrivals_.size());
    cpu_set_t cores{};
    int expected = 0;
    for (int p = 0; p < options_.processes; p++) {
      if (!is_near(p)) continue;
      CPU_OR(&cores, &cores, &arrivals_[p].cores);
      if (p > options_.process) expected++;
      if (p >= options_.process) continue;
      std::string what = cat("connection to process ", p);
      Descriptor socket = connect_unix(unix_name(arrivals_[p].unix_name), what);
      send_all(socket, &options_.process, sizeof(int), deadline_, what);
      peers[p] = std::make_unique<NearPeer>(p, std::move(socket), arrivals_[p].pid);
    }
    for (; expected > 0; expected--) {
      Descriptor socket = accept_one(listener_, deadline_, "connection of a process");
      int p = 0;
      receive_all(socket, &p, sizeof(int), deadline_, "connection of a process");
      bool fits = p > options_.process && p < options_.processes && is_near(p) && !peers[p];
      TW_CHECK(fits, kComm, "process ", p, " of ", options_.processes, " was not expected");
      peers[p] = std::make_unique<NearPeer>(p, std::move(socket), arrivals_[p].pid);
    }
    for (auto& peer : peers)
      if (peer) peer->send_doorbell(fabric_->doorbell_memory_.get());
    for (auto& peer : peers)
      if (peer) peer->take_doorbell(deadline_);
    for (size_t p = 0; p < peers.size(); p++) fabric_->peers_[p] = std::move(peers[p]);
    fabric_->cores_ = CPU_COUNT(&cores) / fabric_->world_->local_process_count();
  }

  void connect_far() {
    uint64_t job = arrivals_[0].unix_name;
    fabric_->watcher_ = std::make_unique<Watcher>(fabric_->doorbell());
    fabric_->lobby_->open(job, fabric_->watcher_.get());
    fabric_->workers_ = std::make_shared<UcxWorkers>(fabric_->watcher_.get());
    FarContext context{fabric_->lobby_.get(), fabric_->watcher_.get(), fabric_->workers_.get(), job,
                       options_.process};
    for (int p = 0; p < options_.processes; p++) {
      if (is_near(p)) continue;
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = arrivals_[p].address;
      address.sin_port = htons(arrivals_[p].port);
      Descriptor control = p < options_.process ? call(p, address, job) : expect(p);
      Transport transport = transport_between(arrivals_[options_.process], arrivals_[p]);
      fabric_->peers_[p] = std::make_unique<FarPeer>(p, address, transport, std::move(control), context);
    }
  }

  Descriptor call(int process, const sockaddr_in& address, uint64_t job) const {
    Descriptor socket = call_lobby(address);
    Hello hello;
    hello.job = job;
    hello.process = options_.process;
    send_all(socket, &hello, sizeof(hello), deadline_,
             cat("connection to process ", process, " at ", text_of(address)));
    return socket;
  }

  Descriptor expect(int process) {
    Descriptor socket;
    while (!fabric_->lobby_->take(process, 0, Channel::kControl, &socket)) {
      TW_CHECK(now_ns() < deadline_, kComm, "connection from process ", process, ": it did not come in time");
      usleep(500);
    }
    return socket;
  }

  const JobOptions& options_;
  int64_t deadline_;
  std::unique_ptr<Fabric> fabric_;
  Descriptor listener_;  // for processes of this machine
  std::vector<Arrival> arrivals_;
};

std::unique_ptr<Fabric> Fabric::make(const JobOptions& options) { return FabricMaker(options).make(); }

}  // namespace tw::comm

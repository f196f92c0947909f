#include "comm/fabric.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <string_view>

#include "base/error.h"

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

Peer::Peer(int process, Descriptor socket, int pid) : process_(process), socket_(std::move(socket)) {
  pid_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

void Peer::send_doorbell(int mine) {
  send_descriptor(socket_, 0, mine, cat("connection to process ", process_));
}

void Peer::take_doorbell(int64_t deadline_ns) {
  const std::string what = cat("connection to process ", process_);
  Descriptor theirs;
  uint64_t number;
  for (;;) {
    Received received = receive_descriptor(socket_, &number, &theirs);
    if (received == Received::kOne) break;
    TW_CHECK(received == Received::kNothing && now_ns() < deadline_ns, kComm, what, ": it has gone");
    usleep(200);
  }
  doorbell_ = Mapping(theirs.get(), sizeof(Doorbell));
}

void Peer::send_memory(uint64_t group, int fd) {
  std::lock_guard lock(mutex_);
  if (!gone_) send_descriptor(socket_, group, fd, cat("connection to process ", process_));
}

void Peer::receive() {
  uint64_t number;
  Descriptor memory;
  for (;;) {
    Received received = receive_descriptor(socket_, &number, &memory);
    if (received == Received::kClosed) gone_ = true;
    if (received != Received::kOne) return;
    memories_[number] = std::move(memory);
    memory = Descriptor();
  }
}

bool Peer::take_memory(uint64_t group, Descriptor* memory) {
  std::lock_guard lock(mutex_);
  if (!memories_.contains(group)) receive();
  auto found = memories_.find(group);
  if (found == memories_.end()) return false;
  *memory = std::move(found->second);
  memories_.erase(found);
  return true;
}

// The socket alone would not tell: children that the peer has forked keep it open.
bool Peer::gone() {
  std::lock_guard lock(mutex_);
  if (gone_) return true;
  pollfd ended{pid_.get(), POLLIN, 0};
  if (pid_ && poll(&ended, 1, 0) == 1) gone_ = true;
  receive();
  return gone_;
}

std::unique_ptr<Fabric> Fabric::make(const JobOptions& options) {
  std::unique_ptr<Fabric> fabric(new Fabric);
  uint64_t name = random_number();
  Descriptor listener = listen_unix(unix_name(name));
  std::vector<Arrival> arrivals = meet(options, describe(options, name));
  fabric->world_ = std::make_unique<World>(processes_of(arrivals), options.process);
  fabric->doorbell_memory_ = make_shared_memory(sizeof(Doorbell));
  fabric->doorbell_ = Mapping(fabric->doorbell_memory_.get(), sizeof(Doorbell));
  fabric->peers_.resize(arrivals.size());

  int64_t deadline = now_ns() + options.timeout_ms * 1'000'000;
  std::span<const Process> processes = fabric->world_->processes();
  cpu_set_t cores{};
  auto here = [&](int p) { return processes[p].host == processes[options.process].host; };
  int expected = 0;
  for (int p = 0; p < options.processes; p++) {
    if (!here(p)) continue;
    CPU_OR(&cores, &cores, &arrivals[p].cores);
    if (p > options.process) expected++;
    if (p >= options.process) continue;
    std::string what = cat("connection to process ", p);
    Descriptor socket = connect_unix(unix_name(arrivals[p].unix_name), what);
    send_all(socket, &options.process, sizeof(int), deadline, what);
    fabric->peers_[p] = std::make_unique<Peer>(p, std::move(socket), arrivals[p].pid);
  }
  for (; expected > 0; expected--) {
    Descriptor socket = accept_one(listener, deadline, "connection of a process");
    int p = 0;
    receive_all(socket, &p, sizeof(int), deadline, "connection of a process");
    bool fits = p > options.process && p < options.processes && here(p) && !fabric->peers_[p];
    TW_CHECK(fits, kComm, "process ", p, " of ", options.processes, " was not expected");
    fabric->peers_[p] = std::make_unique<Peer>(p, std::move(socket), arrivals[p].pid);
  }
  for (auto& peer : fabric->peers_)
    if (peer) peer->send_doorbell(fabric->doorbell_memory_.get());
  for (auto& peer : fabric->peers_)
    if (peer) peer->take_doorbell(deadline);
  fabric->spins_ = fabric->world_->local_process_count() <= CPU_COUNT(&cores);
  return fabric;
}

Peer& Fabric::peer(int process) {
  TW_CHECK(
      peers_[process], kComm, "process ", process,
      " runs on another machine: groups of processes on several machines are not supported by this build");
  return *peers_[process];
}

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

}  // namespace tw::comm

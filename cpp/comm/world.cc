#include "comm/world.h"

#include <atomic>
#include <set>

#include "base/error.h"
#include "device/cpu/device_count.h"

namespace tw::comm {

namespace {

// Worlds stay for ever: readers hold plain references.
std::atomic<const World*> g_world{nullptr};
std::atomic<int> g_version{0};

const World* make_world(std::vector<Process> processes, int self) {
  return new World(std::move(processes), self);
}

}  // namespace

World::World(std::vector<Process> processes, int self) : processes_(std::move(processes)), self_(self) {
  TW_CHECK(self >= 0 && self < static_cast<int>(processes_.size()), kInternal, "world: process ", self,
           " of ", processes_.size());
  std::set<int> hosts;
  local_process_count_ = 0;
  for (int p = 0; p < static_cast<int>(processes_.size()); p++) {
    const Process& process = processes_[p];
    TW_CHECK(process.first_rank == size_ && process.rank_count >= 1, kInternal, "world: process ", p,
             " begins at rank ", process.first_rank, " instead of ", size_);
    size_ += process.rank_count;
    hosts.insert(process.host);
    if (process.host != processes_[self].host) continue;
    if (p == self) local_process_ = local_process_count_;
    local_process_count_++;
  }
  host_count_ = static_cast<int>(hosts.size());
}

int World::process_of(int rank) const {
  TW_CHECK(is_valid(rank), kPlacement, "there is no rank ", rank, ": the job has ", size_);
  int low = 0, high = static_cast<int>(processes_.size()) - 1;
  while (low < high) {
    int middle = (low + high + 1) / 2;
    if (processes_[middle].first_rank <= rank)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

device::Device World::device_of(int rank) const {
  TW_CHECK(addressable(rank), kPlacement, "rank ", rank, " is not of this process, which owns ", rank_count(),
           " from ", first_rank());
  return {device::DeviceType::kCpu, rank - first_rank()};
}

const World& world() {
  const World* now = g_world.load(std::memory_order_acquire);
  if (now) [[likely]]
    return *now;
  static const World* alone = make_world({Process{}}, 0);
  const World* none = nullptr;
  g_world.compare_exchange_strong(none, alone);
  return *g_world.load(std::memory_order_acquire);
}

int world_version() { return g_version.load(std::memory_order_acquire); }

void set_devices(int devices) {
  TW_CHECK(devices >= 1, kValue, "env.init: at least one device a process is wanted, got ", devices);
  const World& now = world();
  if (now.rank_count() == devices) return;
  TW_CHECK(now.processes().size() == 1, kRuntime, "env.init: this process owns ", now.rank_count(),
           " devices in a job of ", now.processes().size(), " processes, which cannot change any more; got ",
           devices);
  device::set_cpu_device_count(devices);
  g_world.store(make_world({Process{0, devices, 0}}, 0), std::memory_order_release);
  g_version.fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace tw::comm

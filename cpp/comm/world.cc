#include "comm/world.h"

#include <set>

#include "base/error.h"
#include "device/accelerator.h"

namespace tw::comm {

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
    if (p == self) {
      local_process_ = local_process_count_;
      ranks_before_ = ranks_of_host_;
    }
    ranks_of_host_ += process.rank_count;
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

device::Device World::device_of(int rank, device::DeviceType type) const {
  TW_CHECK(addressable(rank), kPlacement, "rank ", rank, " is not of this process, which owns ", rank_count(),
           " from ", first_rank());
  int index = rank - first_rank();
  if (type == device::DeviceType::kCpu) return {type, index};
  int count = device::accelerator().device_count();
  if (count >= ranks_of_host_) return {type, ranks_before_ + index};
  TW_CHECK(index < count, kPlacement, "rank ", rank, " has no GPU: this process owns ", rank_count(),
           " ranks and sees ", count, count == 1 ? " GPU" : " GPUs");
  return {type, index};
}

}  // namespace tw::comm

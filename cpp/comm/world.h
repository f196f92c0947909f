// Who takes part in the job: the processes, the ranks that each of them owns, and the hosts they run on.
//
// A rank is the number of a device in the whole job. A process owns a run of consecutive ranks, its
// addressable ones; the i-th of them is the device Device{kCpu, i} there. Without a launcher there is one
// process with one rank. Of accelerators the ranks of a machine have the first ones in their order; where a
// process sees fewer than these, it has been given its own (CUDA_VISIBLE_DEVICES), and the i-th of its ranks
// has the i-th of them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/backend.h"

namespace tw::comm {

struct Process {
  int first_rank = 0;
  int rank_count = 1;
  int host = 0;  // processes with equal numbers run on one machine
};

class World {
 public:
  // Processes in the order of their first ranks, which follow one another from 0; `self` is the caller's.
  World(std::vector<Process> processes, int self);

  int size() const { return size_; }  // ranks of the job
  std::span<const Process> processes() const { return processes_; }
  int self() const { return self_; }  // the number of this process
  int process_of(int rank) const;     // throws kPlacement unless the rank exists
  bool is_valid(int rank) const { return rank >= 0 && rank < size_; }

  int first_rank() const { return processes_[self_].first_rank; }
  int rank_count() const { return processes_[self_].rank_count; }
  bool addressable(int rank) const {
    return static_cast<unsigned>(rank - first_rank()) < static_cast<unsigned>(rank_count());
  }
  // The device of an addressable rank; throws kPlacement for any other, and where there are too few.
  device::Device device_of(int rank, device::DeviceType type = device::DeviceType::kCpu) const;

  int host_of(int rank) const { return processes_[process_of(rank)].host; }
  int host_count() const { return host_count_; }
  int ranks_of_host() const { return ranks_of_host_; }  // of the machine of this process
  int local_process() const { return local_process_; }  // the number of this process among those of its host
  int local_process_count() const { return local_process_count_; }

 private:
  std::vector<Process> processes_;
  int self_ = 0, size_ = 0, host_count_ = 1, local_process_ = 0, local_process_count_ = 1;
  int ranks_of_host_ = 0, ranks_before_ = 0;  // of this machine; of its processes before this one
};

// The world as it is now; the first call begins the job that the environment describes (RANK, WORLD_SIZE,
// MASTER_ADDR, MASTER_PORT), if it does, and waits for its processes. Whoever keeps what follows from the
// world compares `world_version()`.
const World& world();
int world_version();
// Begins the job of the environment, of mpirun's or Slurm's variables too; with none this is a job of one
// process. A process of a job of one may call it again with another number of devices: tensors and groups
// made before stay valid as far as their ranks exist.
void set_devices(int devices);

}  // namespace tw::comm

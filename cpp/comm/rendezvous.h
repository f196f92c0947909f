// How the processes of a job find each other: all tell process 0, which tells all.
#pragma once

#include <sched.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tw::comm {

struct JobOptions {
  int process = 0, processes = 1;  // the number of this process, and how many there are
  std::string address = "127.0.0.1";
  int port = 29500;  // of process 0
  int devices = 1;   // ranks of this process
  int64_t timeout_ms = 300'000;
  std::string host =
      {};            // of processes that share memory: of this machine and equal in this; empty: THALWEG_HOST
  uint64_t run = 0;  // a number that only this job has, where somebody has given it one
  std::string transport = {};  // tcp or ucx; empty: as THALWEG_TRANSPORT says
};

enum class WantedTransport : int32_t { kAny, kTcp, kUcx };

// What a process tells the others, as it goes over the wire.
struct Arrival {
  uint64_t magic = 0, run = 0;
  uint64_t unix_name = 0;  // where it listens for processes of its machine
  uint32_t address = 0;    // and where for those of others, in network order,
  uint16_t port = 0;       // at this port of that machine
  int32_t process = 0, processes = 0, devices = 0, pid = 0;
  WantedTransport wanted = WantedTransport::kAny;
  uint32_t ucx_version = 0;  // 0: none, or not to be used
  char host[112] = {};       // equal for processes that share memory and sockets
  cpu_set_t cores = {};
};

// The arrivals of all processes in their order, with addresses as this process is to use them; blocks until
// all have come. Throws kComm when some do not come in time, naming them, or when two claim one number or
// disagree on how many there are; then on all of them.
std::vector<Arrival> meet(const JobOptions& options, Arrival mine);
// This process: its host, its cores.
Arrival describe(const JobOptions& options, uint64_t unix_name);

// What torchrun, `thalweg run`, mpirun or Slurm have put into the environment. RANK, WORLD_SIZE, MASTER_ADDR
// and MASTER_PORT begin a job by themselves (`implicit`); others only when it is asked for. Under Slurm
// process 0 is looked for on the step's first node, under mpirun on this machine unless MASTER_ADDR names
// another. False when there is none.
bool read_environment(JobOptions* options, bool implicit);

}  // namespace tw::comm

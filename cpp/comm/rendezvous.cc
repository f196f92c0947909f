#include "comm/rendezvous.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>

#include "base/clock.h"
#include "base/error.h"
#include "comm/socket.h"
#include "comm/transport.h"

namespace tw::comm {

namespace {

constexpr uint64_t kMagic = 0x7468616c77656731;  // "thalweg1"

// What process 0 answers: an error in words, or that the arrivals of all follow.
struct Answer {
  int32_t good = 0;
  char problem[508] = {};
};

std::string problem_of(const Arrival& arrival, const JobOptions& options, const std::vector<Arrival>& all) {
  if (arrival.magic != kMagic || arrival.run != options.run) return "a process of another job called";
  if (arrival.processes != options.processes)
    return cat("process ", arrival.process, " expects ", arrival.processes, " processes, process 0 expects ",
               options.processes);
  if (arrival.process <= 0 || arrival.process >= options.processes)
    return cat("process ", arrival.process, " of ", options.processes, " cannot be");
  if (all[arrival.process].magic) return cat("two processes claim to be number ", arrival.process);
  return "";
}

std::string absent(const std::vector<Arrival>& all) {
  std::vector<int> missing;
  for (size_t p = 0; p < all.size(); p++)
    if (!all[p].magic) missing.push_back(static_cast<int>(p));
  return cat("processes ", missing, " of ", all.size(), " did not come in time");
}

uint32_t address_of_peer(const Descriptor& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  getpeername(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return address.sin_addr.s_addr;
}

// Where the other side of a connection to process 0 can be reached; 0 where it runs on the same machine and
// has come by an address that others cannot use. Those and process 0 are reached where process 0 is.
uint32_t outside_address(const Descriptor& socket) {
  uint32_t address = address_of_peer(socket);
  return ntohl(address) >> 24 == 127 ? 0 : address;
}

void fill_addresses(std::vector<Arrival>& all, uint32_t of_first) {
  for (Arrival& arrival : all)
    if (arrival.address == 0) arrival.address = of_first;
}

std::vector<Arrival> host(const JobOptions& options, const Arrival& mine, int64_t deadline) {
  const std::string what = cat("rendezvous at ", options.address, ":", options.port);
  Descriptor listener = listen_tcp(options.port);
  TW_CHECK(listener, kComm, what, ": the port is taken: ", std::strerror(errno));
  std::vector<Arrival> all(options.processes);
  std::vector<Descriptor> sockets;
  all[0] = mine;
  std::string problem;
  while (problem.empty() && static_cast<int>(sockets.size()) + 1 < options.processes) {
    Arrival arrival;
    try {
      Descriptor socket = accept_one(listener, deadline, what);
      receive_all(socket, &arrival, sizeof(arrival), deadline, what);
      arrival.address = outside_address(socket);
      sockets.push_back(std::move(socket));
      problem = problem_of(arrival, options, all);
    } catch (const Error&) {
      if (now_ns() < deadline) continue;  // somebody came and left again
      problem = absent(all);
      break;
    }
    if (problem.empty()) all[arrival.process] = arrival;
  }
  if (problem.empty()) problem = transport_problem(all);
  Answer answer;
  answer.good = problem.empty();
  std::strncpy(answer.problem, problem.c_str(), sizeof(answer.problem) - 1);
  for (const Descriptor& socket : sockets) {
    try {
      send_all(socket, &answer, sizeof(answer), now_ns() + 5'000'000'000, what);
      if (answer.good) send_all(socket, all.data(), all.size() * sizeof(Arrival), deadline, what);
    } catch (const Error&) {
      if (problem.empty()) throw;
    }
  }
  TW_CHECK(problem.empty(), kComm, what, ": ", problem);
  fill_addresses(all, htonl(INADDR_LOOPBACK));
  return all;
}

std::vector<Arrival> join(const JobOptions& options, const Arrival& mine, int64_t deadline) {
  const std::string what = cat("rendezvous at ", options.address, ":", options.port);
  Descriptor socket = connect_tcp(options.address, options.port, deadline, what);
  send_all(socket, &mine, sizeof(mine), deadline, what);
  Answer answer;
  // Process 0 answers when the time is over, too: wait a little longer than it does.
  receive_all(socket, &answer, sizeof(answer), deadline + 10'000'000'000, what);
  TW_CHECK(answer.good, kComm, what, ": ", std::string(answer.problem));
  std::vector<Arrival> all(options.processes);
  receive_all(socket, all.data(), all.size() * sizeof(Arrival), deadline, what);
  fill_addresses(all, address_of_peer(socket));
  return all;
}

bool read_number(const char* name, int* number) {
  const char* text = std::getenv(name);
  if (!text || !*text) return false;
  char* end;
  *number = static_cast<int>(std::strtol(text, &end, 10));
  TW_CHECK(*end == 0 && *number >= 0, kValue, "the environment variable ", name, " should be a number, got '",
           text, "'");
  return true;
}

}  // namespace

Arrival describe(const JobOptions& options, uint64_t unix_name) {
  Arrival mine;
  mine.magic = kMagic;
  mine.run = options.run;
  mine.unix_name = unix_name;
  mine.process = options.process;
  mine.processes = options.processes;
  mine.devices = options.devices;
  mine.pid = getpid();
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  // Unix sockets without a file belong to a network namespace.
  struct stat network{};
  stat("/proc/self/ns/net", &network);
  std::string name = options.host;
  if (const char* given = std::getenv("THALWEG_HOST"); given && name.empty()) name = given;
  std::string host = cat(boot, " ", static_cast<int64_t>(network.st_ino), " ", name);
  std::strncpy(mine.host, host.c_str(), sizeof(mine.host) - 1);
  sched_getaffinity(0, sizeof(mine.cores), &mine.cores);
  describe_transports(&mine, options);
  return mine;
}

std::vector<Arrival> meet(const JobOptions& options, Arrival mine) {
  TW_CHECK(options.process >= 0 && options.process < options.processes, kValue, "process ", options.process,
           " of ", options.processes, " cannot be");
  if (options.processes == 1) return {mine};
  int64_t deadline = now_ns() + options.timeout_ms * 1'000'000;
  return options.process == 0 ? host(options, mine, deadline) : join(options, mine, deadline);
}

namespace {

// The first name of a list such as "node[01-04,07],other": "node01".
std::string first_host(std::string_view list) {
  size_t end = list.find_first_of(",[");
  std::string name(list.substr(0, end));
  if (end == std::string_view::npos || list[end] == ',') return name;
  std::string_view inside = list.substr(end + 1, list.find(']') - end - 1);
  return name + std::string(inside.substr(0, inside.find_first_of(",-")));
}

bool read_slurm(JobOptions* options) {
  bool step = std::getenv("SLURM_STEP_ID") && read_number("SLURM_PROCID", &options->process) &&
              read_number("SLURM_NTASKS", &options->processes);
  if (!step) return false;
  const char* nodes = std::getenv("SLURM_STEP_NODELIST");
  if (nodes && !std::getenv("MASTER_ADDR")) options->address = first_host(nodes);
  return true;
}

// `here`: the variable with the number of processes on this machine.
bool read_mpi(JobOptions* options, const char* rank, const char* size, const char* here) {
  if (!read_number(rank, &options->process) || !read_number(size, &options->processes)) return false;
  int local = options->processes;
  read_number(here, &local);
  TW_CHECK(local == options->processes || std::getenv("MASTER_ADDR"), kValue,
           "the environment variable MASTER_ADDR ", "is wanted: mpirun has started ", local, " of ",
           options->processes, " processes on this machine, and does not say where process 0 is");
  return true;
}

}  // namespace

bool read_environment(JobOptions* options, bool implicit) {
  const char* address = std::getenv("MASTER_ADDR");
  bool placed = read_number("MASTER_PORT", &options->port) && address;
  if (address) options->address = address;
  if (const char* run = std::getenv("TORCHELASTIC_RUN_ID")) options->run = std::hash<std::string_view>()(run);
  // torchrun keeps a store of its own at the port.
  const char* store = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  if (store && std::string_view(store) == "True") options->port++;
  if (placed && read_number("RANK", &options->process) && read_number("WORLD_SIZE", &options->processes))
    return true;
  if (implicit) return false;
  return read_mpi(options, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE") ||
         read_mpi(options, "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS") || read_slurm(options);
}

}  // namespace tw::comm

// Every rank writes what it gives to a call into a file of the communicator's folder, named by the call's
// number and the rank, and ends the call when it has read those of the others that it needs. The folder goes
// with the last rank.
#include "tests/cuda/emulator/nccl.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/cat.h"
#include "comm/reduce.h"
#include "cuda/comm/nccl.h"
#include "tests/cuda/emulator/memory.h"

namespace fs = std::filesystem;
using namespace tw::cuda::emulator;
using tw::DType;

namespace {

enum class Kind : int { kAllReduce, kReduce, kBroadcast, kReduceScatter, kAllGather, kSend, kReceive };

// What ranks have to agree on; goes ahead of the data.
struct Header {
  Kind kind;
  ncclDataType_t type;
  ncclRedOp_t op;
  int root;
  size_t count;
  bool operator==(const Header&) const = default;
};

struct Op {
  ncclComm_t comm;
  Header header;
  const void* from;
  void* to;
  int peer;
  std::string key;  // of its files
};

std::string g_error;
thread_local int t_depth = 0;
thread_local std::vector<Op> t_ops;

ncclResult_t failed(ncclResult_t result, std::string why) {
  g_error = std::move(why);
  return result;
}

DType dtype_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
      return DType::kInt8;
    case ncclUint8:
      return DType::kUInt8;
    case ncclInt32:
      return DType::kInt32;
    case ncclInt64:
      return DType::kInt64;
    case ncclFloat16:
      return DType::kFloat16;
    case ncclBfloat16:
      return DType::kBFloat16;
    case ncclFloat32:
      return DType::kFloat32;
    default:
      return DType::kFloat64;
  }
}

tw::comm::Reduction reduction_of(ncclRedOp_t op) {
  constexpr tw::comm::Reduction kAll[] = {tw::comm::Reduction::kSum, tw::comm::Reduction::kProd,
                                          tw::comm::Reduction::kMax, tw::comm::Reduction::kMin};
  return kAll[op];
}

size_t bytes_of(const Header& header, size_t count) {
  return count * static_cast<size_t>(tw::size_of(dtype_of(header.type)));
}

}  // namespace

struct ncclComm {
  fs::path folder;
  int ranks, rank, device;
  bool blocking;
  size_t calls = 0;
  std::vector<size_t> sent, received;  // by peer
  std::deque<Op> queue;
  ncclResult_t state = ncclSuccess;
  bool met = false;

  fs::path file(const std::string& key, int of) const { return folder / tw::cat(key, ".", of); }
  void write(const std::string& key, const Header& header, const void* data, size_t bytes) const {
    fs::path part = folder / tw::cat("part.", key, ".", rank);
    {
      std::ofstream out(part, std::ios::binary);
      out.write(reinterpret_cast<const char*>(&header), sizeof header);
      out.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
    }
    fs::rename(part, file(key, rank));
  }
  bool read(const std::string& key, int of, Header* header, std::vector<char>* data) const {
    std::ifstream in(file(key, of), std::ios::binary);
    if (!in || !in.read(reinterpret_cast<char*>(header), sizeof *header)) return false;
    data->assign(std::istreambuf_iterator<char>(in), {});
    return true;
  }
  void begin(Op& op);
  bool run(const Op& op);
  bool take(const Op& op, int of, std::vector<char>* data);
  void give(const Op& op, const std::vector<char>& data);
  void advance();
  void leave();
};

namespace {

// Communicators that processes end with: their folders go all the same.
std::mutex g_mutex;
std::set<ncclComm_t>& open_ones() {
  static auto* all = [] {
    std::atexit([] {
      std::lock_guard lock(g_mutex);
      for (ncclComm_t comm : open_ones()) comm->leave();
    });
    return new std::set<ncclComm_t>;
  }();
  return *all;
}

// Memory that a call reads or writes has to be of its device, and set where it is read.
bool is_usable(const ncclComm& comm, const void* data, size_t bytes, ByteState least) {
  if (bytes == 0) return true;
  if (!g_region.holds(data) || g_region.device_of(data) != comm.device) return false;
  const ByteState* states = g_region.states_of(data);
  for (size_t i = 0; i < bytes; i++)
    if (states[i] < least) return false;
  return true;
}

size_t input_count(const ncclComm& comm, const Header& header) {
  size_t parts = header.kind == Kind::kReduceScatter ? static_cast<size_t>(comm.ranks) : 1;
  return header.count * parts;
}

bool gives(const ncclComm& comm, const Header& header) {
  return header.kind != Kind::kReceive && (header.kind != Kind::kBroadcast || comm.rank == header.root);
}

}  // namespace

// Writes what this rank gives.
void ncclComm::begin(Op& op) {
  const Header& h = op.header;
  if (h.kind == Kind::kSend)
    op.key = tw::cat("send.", op.peer, ".", sent[static_cast<size_t>(op.peer)]++);
  else if (h.kind == Kind::kReceive)
    op.key = tw::cat("send.", rank, ".", received[static_cast<size_t>(op.peer)]++);
  else
    op.key = tw::cat("call.", calls++);
  queue.push_back(op);
  if (h.kind == Kind::kReceive) return;
  size_t bytes = gives(*this, h) ? bytes_of(h, input_count(*this, h)) : 0;
  if (!is_usable(*this, op.from, bytes, ByteState::kSet)) {
    state = failed(ncclInvalidArgument, tw::cat("rank ", rank, " gives memory that is not of device ", device,
                                                ", nobody's or not set: ", place_of(op.from)));
    return;
  }
  DeviceAccess access;
  write(op.key, h, op.from, bytes);
}

// What rank `of` has given to the call.
bool ncclComm::take(const Op& op, int of, std::vector<char>* data) {
  Header theirs;
  if (!read(op.key, of, &theirs, data)) return false;
  Header wanted = op.header;
  if (wanted.kind == Kind::kReceive) wanted.kind = Kind::kSend;
  if (theirs == wanted) return true;
  state =
      failed(ncclInvalidUsage, tw::cat("ranks ", rank, " and ", of, " make calls that differ: kinds ",
                                       static_cast<int>(wanted.kind), " and ", static_cast<int>(theirs.kind),
                                       ", counts ", wanted.count, " and ", theirs.count));
  return false;
}

void ncclComm::give(const Op& op, const std::vector<char>& data) {
  if (!is_usable(*this, op.to, data.size(), ByteState::kUnset)) {
    state =
        failed(ncclInvalidArgument, tw::cat("rank ", rank, " wants results in memory that is not of device ",
                                            device, " or nobody's: ", place_of(op.to)));
    return;
  }
  DeviceAccess access;
  std::memcpy(op.to, data.data(), data.size());
  mark(op.to, data.size(), ByteState::kSet);
}

// Whether the call is over.
bool ncclComm::run(const Op& op) {
  const Header& h = op.header;
  std::vector<std::vector<char>> inputs(static_cast<size_t>(ranks));
  switch (h.kind) {
    case Kind::kSend:
      return true;
    case Kind::kReceive: {
      if (!take(op, op.peer, inputs.data())) return false;
      fs::remove(file(op.key, op.peer));
      give(op, inputs[0]);
      return true;
    }
    case Kind::kBroadcast:
      if (!take(op, h.root, inputs.data())) return false;
      give(op, inputs[0]);
      return true;
    default:
      break;
  }
  for (int r = 0; r < ranks; r++)
    if (!take(op, r, &inputs[static_cast<size_t>(r)])) return false;
  std::vector<char> result;
  if (h.kind == Kind::kAllGather) {
    for (const auto& input : inputs) result.insert(result.end(), input.begin(), input.end());
  } else {
    size_t skipped = h.kind == Kind::kReduceScatter ? bytes_of(h, h.count) * static_cast<size_t>(rank) : 0;
    std::vector<const void*> addresses;
    for (const auto& input : inputs) addresses.push_back(input.data() + skipped);
    result.resize(bytes_of(h, h.count));
    tw::comm::reduce(dtype_of(h.type), reduction_of(h.op), result.data(), addresses,
                     static_cast<int64_t>(h.count));
  }
  if (h.kind != Kind::kReduce || rank == h.root) give(op, result);
  return true;
}

void ncclComm::advance() {
  if (state != ncclSuccess) return;
  if (!met) {
    for (int r = 0; r < ranks; r++)
      if (!fs::exists(file("here", r))) return;
    met = true;
  }
  while (state == ncclSuccess && !queue.empty() && run(queue.front())) queue.pop_front();
}

void ncclComm::leave() {
  std::error_code ignored;
  std::ofstream(file("gone", rank)).flush();
  for (int r = 0; r < ranks; r++)
    if (!fs::exists(file("gone", r), ignored)) return;
  fs::remove_all(folder, ignored);
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclInProgress:
      return "in progress";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    default:
      return "internal error";
  }
}
const char* ncclGetLastError(ncclComm_t) { return g_error.c_str(); }

namespace {

constexpr const char* kFolders = "/dev/shm";
constexpr const char* kPrefix = "thalweg-emulated-nccl-";

// Processes that were killed have left theirs behind; no test goes on for so long.
void remove_stale_folders() {
  constexpr std::chrono::minutes kLong{15};
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolders, ignored))
    if (entry.path().filename().string().starts_with(kPrefix) &&
        entry.last_write_time(ignored) < fs::file_time_type::clock::now() - kLong)
      fs::remove_all(entry.path(), ignored);
}

}  // namespace

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  remove_stale_folders();
  // mkdtemp gives the last six characters values of its own.
  std::string folder = std::string(kFolders) + "/" + kPrefix + std::string(6, 'X');
  if (!mkdtemp(folder.data())) return failed(ncclInternalError, "no folder can be made in /dev/shm");
  std::memset(id->internal, 0, sizeof id->internal);
  folder.copy(id->internal, sizeof id->internal - 1);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  int device = 0;
  cudaGetDevice(&device);
  auto peers = static_cast<size_t>(ranks);
  *comm = new ncclComm{id.internal, ranks, rank,        device, config->blocking != 0, 0, {},
                       {},          {},    ncclSuccess, false};
  (*comm)->sent.resize(peers);
  (*comm)->received.resize(peers);
  if (fs::exists((*comm)->file("here", rank)))
    return failed(ncclInvalidUsage, tw::cat("rank ", rank, " of a communicator comes twice"));
  std::ofstream((*comm)->file("here", rank)).flush();
  std::lock_guard lock(g_mutex);
  open_ones().insert(*comm);
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  {
    std::lock_guard lock(g_mutex);
    open_ones().erase(comm);
  }
  comm->leave();
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) { return ncclCommDestroy(comm); }

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* result) {
  comm->advance();
  bool waits = comm->state == ncclSuccess && (!comm->met || !comm->queue.empty());
  *result = waits ? ncclInProgress : comm->state;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  t_depth++;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (t_depth == 0) return failed(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (--t_depth > 0) return ncclSuccess;
  std::vector<Op> ops = std::exchange(t_ops, {});
  for (Op& op : ops) op.comm->begin(op);
  bool waits = false;
  for (Op& op : ops) {
    ncclResult_t result = ncclSuccess;
    while (ncclCommGetAsyncError(op.comm, &result), result == ncclInProgress && op.comm->blocking)
      std::this_thread::yield();
    if (result != ncclSuccess && result != ncclInProgress) return result;
    waits = waits || result == ncclInProgress;
  }
  return waits ? ncclInProgress : ncclSuccess;
}

namespace {

ncclResult_t queued(ncclComm_t comm, const Header& header, const void* from, void* to, int peer = 0) {
  ncclGroupStart();
  t_ops.push_back({comm, header, from, to, peer, {}});
  return ncclGroupEnd();
}

}  // namespace

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t) {
  return queued(comm, {Kind::kAllReduce, type, op, 0, count}, from, to);
}
ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t) {
  return queued(comm, {Kind::kReduce, type, op, root, count}, from, to);
}
ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t) {
  return queued(comm, {Kind::kBroadcast, type, ncclSum, root, count}, from, to);
}
ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t) {
  return queued(comm, {Kind::kReduceScatter, type, op, 0, count}, from, to);
}
ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t) {
  return queued(comm, {Kind::kAllGather, type, ncclSum, 0, count}, from, to);
}
ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t) {
  return queued(comm, {Kind::kSend, type, ncclSum, 0, count}, from, nullptr, peer);
}
ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t) {
  return queued(comm, {Kind::kReceive, type, ncclSum, 0, count}, nullptr, to, peer);
}

namespace tw::cuda {

const Nccl& nccl(const char*) {
  static const Nccl functions = {
      ncclGetUniqueId,       ncclCommInitRankConfig, ncclCommDestroy,  ncclCommAbort,
      ncclCommGetAsyncError, ncclGetErrorString,     ncclGetLastError, ncclGroupStart,
      ncclGroupEnd,          ncclAllReduce,          ncclReduce,       ncclBroadcast,
      ncclReduceScatter,     ncclAllGather,          ncclSend,         ncclRecv};
  return functions;
}

}  // namespace tw::cuda

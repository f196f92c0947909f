// Calls of equal parts are NCCL's own. Parts of various sizes go as several of its calls in one NCCL group: a
// gathering as a broadcast of each part, a scattered reduction as a reduction of each to its place; what goes
// from one member to another as sends and receives. Communicators do not block, so that a member that does
// not come, or dies, can be given up: between two calls they are asked until they have begun the one before.
#include "cuda/comm/communicators.h"

#include <algorithm>
#include <exception>

#include "base/error.h"
#include "comm/world.h"

namespace tw::cuda {

using comm::Call;
using comm::CallKind;
using comm::Part;

KeptCall::KeptCall(const Call& given)
    : call(given),
      parts(given.parts.begin(), given.parts.end()),
      counts(given.counts.begin(), given.counts.end()),
      origin(given.origin) {
  pair_counts.reserve(2 * parts.size());
  pair_sources.reserve(parts.size());
  pair_targets.reserve(parts.size());
  for (Part& part : parts) {
    for (std::span<const int64_t>* list : {&part.send_counts, &part.receive_counts})
      *list = pair_counts.emplace_back(list->begin(), list->end());
    part.send_from = pair_sources.emplace_back(part.send_from.begin(), part.send_from.end());
    part.receive_to = pair_targets.emplace_back(part.receive_to.begin(), part.receive_to.end());
  }
  call.parts = parts;
  call.counts = counts;
  call.origin = origin;
}

Communicators::Id Communicators::make_id() {
  Id id;
  check_nccl(nccl("group").get_unique_id(&id), "group");
  return id;
}

Communicators::Communicators(const comm::Group& group, const Id& id)
    : size_(group.size()), name_(group.name()) {
  for (int number : group.members()) {
    int device = comm::world().device_of(group.ranks()[number], device::DeviceType::kCuda).index;
    members_.push_back({number, device, make_ref<CudaStream>(device, 0)});
  }
  try {
    in_one_group(name_.c_str(), [&](size_t k) {
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = 0;
      check_nccl(nccl("group").init_rank(&members_[k].comm, size_, id, members_[k].number, &config),
                 name_.c_str());
    });
  } catch (...) {
    abort();
    throw;
  }
}

Communicators::~Communicators() {
  if (aborted_.exchange(true)) return;
  for (Member& member : members_)
    if (member.comm) nccl("group").destroy(member.comm);
}

void Communicators::abort() {
  if (aborted_.exchange(true)) return;
  for (Member& member : members_)
    if (member.comm) nccl("group").abort(member.comm);
}

std::string Communicators::problem() const {
  if (aborted_) return "";
  for (const Member& member : members_) {
    ncclResult_t result = ncclSuccess;
    nccl("group").async_error(member.comm, &result);
    if (result == ncclSuccess || result == ncclInProgress) continue;
    const char* more = nccl("group").last_error(member.comm);
    return cat("NCCL: ", nccl("group").error_string(result), more && *more ? ": " : "", more ? more : "");
  }
  return "";
}

// One thread that calls for several members has to make their calls a group, or waits for itself.
template <class Body>
void Communicators::in_one_group(const char* op, const Body& body) {
  const Nccl& library = nccl(op);
  check_nccl(library.group_start(), op);
  std::exception_ptr thrown;
  for (size_t k = 0; k < members_.size() && !thrown; k++) {
    OnDevice on(members_[k].device);
    try {
      body(k);
    } catch (...) {
      thrown = std::current_exception();
    }
  }
  ncclResult_t result = library.group_end();
  if (thrown) std::rethrow_exception(thrown);
  check_nccl(result, op);
}

bool Communicators::settled(const char* op) const {
  bool all = true;
  for (const Member& member : members_) {
    ncclResult_t result = ncclSuccess;
    check_nccl(nccl(op).async_error(member.comm, &result), op);
    check_nccl(result, op);
    all = all && result == ncclSuccess;
  }
  return all;
}

void Communicators::begin(const Call& call) {
  in_one_group(comm::name_of(call.kind), [&](size_t k) { post_part(call, k); });
}

namespace {

const char* at(const void* data, int64_t elements, DType dtype) {
  return static_cast<const char*>(data) + elements * size_of(dtype);
}
char* at(void* data, int64_t elements, DType dtype) {
  return static_cast<char*>(data) + elements * size_of(dtype);
}

}  // namespace

// The copy of what a member sends to itself.
void Communicators::move_here(void* to, const void* from, int64_t bytes, size_t k) {
  if (to == from || bytes == 0) return;
  check(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDefault, stream(k).handle()),
        "collective");
}

void Communicators::post_part(const Call& call, size_t k) {
  const char* op = comm::name_of(call.kind);
  const Nccl& library = nccl(op);
  const Part& part = call.parts[k];
  ncclComm_t comm = members_[k].comm;
  cudaStream_t queue = stream(k).handle();
  bool reduces = call.kind == CallKind::kAllReduce || call.kind == CallKind::kReduce ||
                 call.kind == CallKind::kReduceScatter;
  NcclElements e = reduces ? reduced_elements(call.dtype, call.reduction, op) : moved_elements(call.dtype);
  ncclRedOp_t reduction = reduction_of(call.dtype, call.reduction);
  auto count = [&](int member) { return static_cast<size_t>(call.count_of(member) * e.parts); };
  auto all = static_cast<size_t>(call.count * e.parts);
  auto each = [&](auto body) {  // with the offset of each member's part
    int64_t offset = 0;
    for (int m = 0; m < size_; offset += call.count_of(m++))
      if (call.count_of(m) > 0) check_nccl(body(m, offset), op);
  };
  auto part_count = static_cast<size_t>((call.counts.empty() ? call.count : call.counts[0]) * e.parts);
  bool equal = std::ranges::all_of(call.counts, [&](int64_t c) { return c == call.counts[0]; });
  bool root = members_[k].number == call.root;
  switch (call.kind) {
    case CallKind::kAllReduce:
      if (all > 0)
        check_nccl(library.all_reduce(part.input, part.output, all, e.type, reduction, comm, queue), op);
      return;
    case CallKind::kReduce:
      if (all > 0)
        check_nccl(library.reduce(part.input, part.output, all, e.type, reduction, call.root, comm, queue),
                   op);
      return;
    case CallKind::kBroadcast: {
      void* output = part.output ? part.output : const_cast<void*>(part.input);
      const void* input = root ? part.input : output;
      if (all > 0) check_nccl(library.broadcast(input, output, all, e.type, call.root, comm, queue), op);
      return;
    }
    case CallKind::kReduceScatter:
      if (equal) {
        if (part_count > 0)
          check_nccl(
              library.reduce_scatter(part.input, part.output, part_count, e.type, reduction, comm, queue),
              op);
        return;
      }
      return each([&](int m, int64_t offset) {
        void* output = m == members_[k].number ? part.output : nullptr;
        return library.reduce(at(part.input, offset, call.dtype), output, count(m), e.type, reduction, m,
                              comm, queue);
      });
    case CallKind::kAllGather:
      if (equal) {
        if (part_count > 0)
          check_nccl(library.all_gather(part.input, part.output, part_count, e.type, comm, queue), op);
        return;
      }
      return each([&](int m, int64_t offset) {
        void* to = at(part.output, offset, call.dtype);
        const void* from = m == members_[k].number ? part.input : to;
        return library.broadcast(from, to, count(m), e.type, m, comm, queue);
      });
    case CallKind::kGather:
    case CallKind::kScatter:
    case CallKind::kAllToAll:
      return post_pairs(call, k);
    case CallKind::kBarrier:
      return;
  }
}

void Communicators::post_pairs(const Call& call, size_t k) {
  const char* op = comm::name_of(call.kind);
  const Nccl& library = nccl(op);
  const Part& part = call.parts[k];
  const int self = members_[k].number;
  NcclElements e = moved_elements(call.dtype);
  int64_t sent = 0, received = 0;
  for (int m = 0; m < size_; m++) {
    int64_t out = 0, in = 0;  // elements for and from member m
    if (call.kind == CallKind::kGather) {
      out = m == call.root ? call.count_of(self) : 0;
      in = self == call.root ? call.count_of(m) : 0;
    } else if (call.kind == CallKind::kScatter) {
      out = self == call.root ? call.count_of(m) : 0;
      in = m == call.root ? call.count_of(self) : 0;
    } else {
      out = part.send_counts[m];
      in = part.receive_counts[m];
    }
    const void* from = part.send_from.empty() ? at(part.input, sent, call.dtype) : part.send_from[m];
    void* to = part.receive_to.empty() ? at(part.output, received, call.dtype) : part.receive_to[m];
    sent += out;
    received += in;
    if (m == self) {
      move_here(to, from, in * size_of(call.dtype), k);
      continue;
    }
    ncclComm_t comm = members_[k].comm;
    cudaStream_t queue = stream(k).handle();
    if (out > 0)
      check_nccl(library.send(from, static_cast<size_t>(out * e.parts), e.type, m, comm, queue), op);
    if (in > 0)
      check_nccl(library.receive(to, static_cast<size_t>(in * e.parts), e.type, m, comm, queue), op);
  }
}

}  // namespace tw::cuda

// The communicators of a group: one for each of its members whose GPU this process has, and what a call
// becomes on them.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "comm/group.h"
#include "cuda/comm/nccl.h"
#include "cuda/device/streams.h"

namespace tw::cuda {

// A call with memory of its own for what it only refers to.
struct KeptCall {
  explicit KeptCall(const comm::Call& call);
  comm::Call call;
  std::vector<comm::Part> parts;
  std::vector<int64_t> counts;
  std::vector<std::vector<int64_t>> pair_counts;
  std::vector<std::vector<const void*>> pair_sources;
  std::vector<std::vector<void*>> pair_targets;
  std::string origin;
};

class Communicators {
 public:
  using Id = ncclUniqueId;
  static Id make_id();

  // Begins to meet the other members.
  Communicators(const comm::Group& group, const Id& id);
  // What is queued still runs.
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  // The device of the k-th member of this process, and the stream on which its part of calls runs.
  int device(size_t k) const { return members_[k].device; }
  CudaStream& stream(size_t k) const { return *members_[k].stream; }

  // Begins to queue the call on these streams, all members' parts as one.
  void begin(const comm::Call& call);
  // Whether what was begun has been done: the members have met, the call is queued. Until then nothing else
  // may begin. Throws kComm with what NCCL says went wrong. Never blocks.
  bool settled(const char* op) const;
  // What is queued ends without results. Any thread.
  void abort();
  // Empty, or what NCCL says went wrong meanwhile.
  std::string problem() const;

 private:
  struct Member {
    int number;  // in the group
    int device;
    Ref<CudaStream> stream;
    ncclComm_t comm = nullptr;
  };
  template <class Body>
  void in_one_group(const char* op, const Body& body);
  void post_part(const comm::Call& call, size_t k);
  void post_pairs(const comm::Call& call, size_t k);
  void move_here(void* to, const void* from, int64_t bytes, size_t k);

  int size_;
  std::string name_;
  std::vector<Member> members_;
  std::atomic<bool> aborted_{false};
};

}  // namespace tw::cuda

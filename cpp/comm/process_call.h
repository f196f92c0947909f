// One collective call among processes, from its header to its last copy.
#pragma once

#include <string>
#include <vector>

#include "comm/header.h"
#include "comm/link.h"
#include "comm/request.h"
#include "comm/transfer.h"

namespace tw::comm {

// The link to each process of a group, null where it has not come yet.
using Links = std::vector<std::unique_ptr<Link>>;

// All functions want the lock of the group held.
class ProcessCall {
 public:
  ProcessCall(const Call& call, const Circle& circle, const CallHeader& header);

  // Does what can be done now; true if that was something.
  bool advance(const Links& links);
  bool complete() const;
  void finish() { transfer_.finish(); }
  int64_t moved_bytes() const { return transfer_.moved_bytes(); }
  int64_t far_bytes() const { return transfer_.far_bytes(); }

  // Calls that do not fit were seen and all headers have come, or enough time has passed.
  bool mismatch() const;
  std::string mismatch_text(const std::string& group) const;
  std::string text() const { return header_.text(); }
  // Whether the call still needs the process at a place, if only to take what was written; whether that has
  // come to it.
  bool waits_for(int place) const;
  bool has_come(int place) const { return peers_[place].received == sizeof(CallHeader); }

  SmallVector<Ref<RefCounted>, 4> keep;

 private:
  struct PeerState {
    CallHeader header;  // first ours to it, then none
    size_t sent = 0, received = 0;
    bool flushed = false;  // all that was written so far
    CallHeader theirs;
  };
  bool push_header(int place, Stream& stream);
  bool pull_header(int place, Stream& stream);

  const Circle& circle_;
  Transfer transfer_;
  CallHeader header_;
  std::vector<PeerState> peers_;
  int64_t mismatch_since_ = 0;
};

}  // namespace tw::comm

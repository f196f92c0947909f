// Messages between members of one process.
#pragma once

#include <list>

#include "comm/call.h"
#include "comm/request.h"

namespace tw::comm {

struct Mailroom;
class LocalMessage;

// Pairs each send with the receive of the same members and tag. Thread-safe.
class LocalMessages {
 public:
  explicit LocalMessages(std::string group);
  ~LocalMessages();
  // The bytes that moved at once go into `moved`.
  Ref<Request> post(const Message& message, bool sends, int64_t timeout_ms, int64_t* moved);

 private:
  std::string group_;
  Ref<Mailroom> room_;
  std::list<Ref<LocalMessage>> waiting_;  // guarded by the room's mutex
};

}  // namespace tw::comm

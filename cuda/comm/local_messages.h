// Messages between members of one process: copies from device to device.
#pragma once

#include <list>

#include "comm/call.h"
#include "comm/request.h"
#include "cuda/device/streams.h"

namespace tw::cuda {

class LocalMessage;

// Pairs each send with the receive of the same members and tag. The caller's lock guards it.
class LocalMessages {
 public:
  LocalMessages(std::string group, std::mutex& mutex);
  ~LocalMessages();
  Ref<comm::Request> post(const comm::Message& message, bool sends, int device, int64_t timeout_ms);

 private:
  std::string group_;
  std::mutex& mutex_;
  std::list<Ref<LocalMessage>> waiting_;
};

}  // namespace tw::cuda

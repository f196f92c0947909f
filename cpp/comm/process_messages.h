// Messages between members of different processes: a stream of headers and data to each process.
#pragma once

#include <deque>
#include <list>
#include <vector>

#include "comm/header.h"
#include "comm/pending.h"
#include "comm/process_call.h"

namespace tw::comm {

class ProcessMessage final : public Pending {
 public:
  ProcessMessage(PendingOwner& owner, const Message& message);
  std::string text(bool sends) const;  // "recv of float32, 4 elements, from member 1 to member 0"
  void release() { keep.clear(); }

  MessageHeader header;
  char* data;
  size_t bytes;
  size_t moved = 0;  // header, data and padding
  bool met = false;  // a receive whose message is coming
  SmallVector<Ref<RefCounted>, 4> keep;
};

// All functions want the lock of the group held.
class ProcessMessages {
 public:
  explicit ProcessMessages(int places) : places_(places) {}
  void send(int place, Ref<ProcessMessage> message) { places_[place].sends.push_back(std::move(message)); }
  void receive(int place, Ref<ProcessMessage> message);

  bool idle() const;
  // True when something moved. Throws kComm where a receive and its message do not fit.
  bool advance(const Links& links);
  // The first request that needs the process at a place, as text; empty when there is none.
  std::string waits_for(int place) const;
  std::string text_of(const Pending& request) const;
  void fail_all(const std::string& reason);

 private:
  // A message that came before its receive was posted, or is coming.
  struct Incoming {
    MessageHeader header;
    size_t moved = 0;  // data and padding
    Ref<ProcessMessage> to;
    std::vector<char> kept;  // where `to` is null
  };
  struct Place {
    std::deque<Ref<ProcessMessage>> sends;
    std::list<Ref<ProcessMessage>> receives;
    std::list<Incoming> kept;
    std::unique_ptr<Incoming> coming;
  };
  bool push(Place& place, Stream& stream);
  bool pull(Place& place, Stream& stream);
  bool begin(Place& place, Stream& stream);
  static Ref<ProcessMessage> find_receive(Place& place, const MessageHeader& header);
  static void finish(Place& place, const Ref<ProcessMessage>& receive);

  std::vector<Place> places_;
};

}  // namespace tw::comm

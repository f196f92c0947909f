// Where connections from processes of other machines arrive, until whoever expects them takes them.
#pragma once

#include <netinet/in.h>

#include <list>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "comm/fork_guard.h"
#include "comm/shared_memory.h"

namespace tw::comm {

class Watcher;

// What a connection between two processes is for.
enum class Channel : uint32_t { kControl, kCalls, kMessages };

// The first bytes of a connection.
struct Hello {
  uint64_t magic = 0x7468616c77656732;  // "thalweg2"
  uint64_t job = 0;                     // a number that only this job has
  uint64_t group = 0;                   // none for kControl
  int32_t process = 0;                  // who calls
  Channel channel = Channel::kControl;
};

class Lobby {
 public:
  Lobby();  // listens on any port of all addresses
  uint16_t port() const;
  // From here on connections of this job count; `watcher` sees those that come.
  void open(uint64_t job, Watcher* watcher);
  // The connection of a process for a channel of a group, once it has come. Never blocks.
  bool take(int process, uint64_t group, Channel channel, Descriptor* socket);

 private:
  struct Guest {
    Descriptor socket;
    Hello hello;
    size_t got = 0;
  };
  void accept_all();
  bool listen_to(Guest& guest);  // false: no more is to come from it

  Descriptor listener_;
  ForkGuard guard_;
  uint64_t job_ = 0;
  std::mutex mutex_;
  std::list<Guest> guests_;  // that have not said all
  std::map<std::tuple<int, uint64_t, Channel>, Descriptor> waiting_;
};

// A connection to a process's lobby, begun but not waited for; a Hello is to be written to it first. What
// fails shows when it is used. Throws kOs without a socket.
Descriptor call_lobby(const sockaddr_in& address);
std::string text_of(const sockaddr_in& address);  // "10.0.0.1:40123"

}  // namespace tw::comm

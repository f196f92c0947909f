// Rings the process's doorbell when something comes over the connections to other machines while somebody
// sleeps on it.
//
// Connections are looked at edge-triggered, so that data that nobody wants yet wakes nobody twice; and only
// once after each `arm`, so that the thread sleeps while others are at work on the connections.
#pragma once

#include <thread>

#include "comm/shared_memory.h"

namespace tw::comm {

class Watcher {
 public:
  explicit Watcher(Doorbell& bell);
  ~Watcher();
  void add(int fd);  // until it is closed
  // Forgets what has come so far; whoever calls it looks at all connections afterwards.
  void clear();
  // The next thing that comes, or has come since `clear`, rings.
  void arm();

 private:
  void run();

  Doorbell& bell_;
  Descriptor connections_, armed_, stop_;
  std::thread thread_;
};

}  // namespace tw::comm

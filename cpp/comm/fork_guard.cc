#include "comm/fork_guard.h"

#include <pthread.h>
#include <unistd.h>

#include <mutex>
#include <set>

namespace tw::comm {

namespace {

struct Guarded {
  std::mutex mutex;  // held during a fork
  std::set<int> fds;
};

Guarded& guarded() {
  static Guarded* all = [] {
    static auto* made = new Guarded;
    auto begin = [] { made->mutex.lock(); };
    auto parent = [] { made->mutex.unlock(); };
    auto child = [] {
      for (int fd : made->fds) close(fd);
      made->mutex.unlock();
    };
    pthread_atfork(begin, parent, child);
    return made;
  }();
  return *all;
}

}  // namespace

ForkGuard::ForkGuard(int fd) : fd_(fd) {
  std::lock_guard lock(guarded().mutex);
  guarded().fds.insert(fd);
}

ForkGuard::~ForkGuard() {
  std::lock_guard lock(guarded().mutex);
  guarded().fds.erase(fd_);
}

}  // namespace tw::comm

// Sockets that children of a fork close: a connection must end with its process, whatever workers that has
// forked.
#pragma once

namespace tw::comm {

class ForkGuard {
 public:
  explicit ForkGuard(int fd);  // from now on, until destroyed
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

 private:
  int fd_;
};

}  // namespace tw::comm

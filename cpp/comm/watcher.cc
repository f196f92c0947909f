#include "comm/watcher.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace tw::comm {

namespace {

Descriptor make_epoll() {
  Descriptor made(epoll_create1(EPOLL_CLOEXEC));
  TW_CHECK(made, kOs, "epoll: ", std::strerror(errno));
  return made;
}

void control(const Descriptor& epoll, int what, int fd, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  TW_CHECK(epoll_ctl(epoll.get(), what, fd, &event) == 0, kOs, "epoll: ", std::strerror(errno));
}

}  // namespace

Watcher::Watcher(Doorbell& bell)
    : bell_(bell), connections_(make_epoll()), armed_(make_epoll()), stop_(eventfd(0, EFD_CLOEXEC)) {
  TW_CHECK(stop_, kOs, "eventfd: ", std::strerror(errno));
  control(armed_, EPOLL_CTL_ADD, connections_.get(), EPOLLONESHOT);
  control(armed_, EPOLL_CTL_ADD, stop_.get(), EPOLLIN);
  // Signals are for other threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Watcher::~Watcher() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

void Watcher::add(int fd) {
  control(connections_, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
}

void Watcher::clear() {
  epoll_event events[64];
  while (epoll_wait(connections_.get(), events, 64, 0) == 64) {
  }
}

void Watcher::arm() { control(armed_, EPOLL_CTL_MOD, connections_.get(), EPOLLIN | EPOLLONESHOT); }

void Watcher::run() {
  for (;;) {
    epoll_event event;
    int count = epoll_wait(armed_.get(), &event, 1, -1);
    if (count < 0 && errno != EINTR) return;
    if (count < 1) continue;
    if (event.data.fd == stop_.get()) return;
    clear();
    bell_.ring();
  }
}

}  // namespace tw::comm

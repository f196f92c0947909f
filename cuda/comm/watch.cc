#include "cuda/comm/watch.h"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <thread>
#include <vector>

namespace tw::cuda {

namespace {

class Watch {
 public:
  static Watch& get() {
    static auto* made = new Watch;  // the thread ends before the process does
    return *made;
  }

  void add(NcclGroup& group) {
    std::lock_guard lock(mutex_);
    for (const Ref<NcclGroup>& known : groups_)
      if (known.get() == &group) return;
    groups_.emplace_back(&group);
    if (thread_.joinable()) return;
    thread_ = std::thread([this] { run(); });
    std::atexit([] { get().stop(); });
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!stopped_.wait_for(lock, std::chrono::milliseconds(100), [&] { return over_; })) {
      std::vector<Ref<NcclGroup>> groups = groups_;
      lock.unlock();
      for (const Ref<NcclGroup>& group : groups) group->watch();
      lock.lock();
    }
  }

  void stop() {
    {
      std::lock_guard lock(mutex_);
      over_ = true;
    }
    stopped_.notify_all();
    thread_.join();
  }

  std::mutex mutex_;
  std::condition_variable stopped_;
  bool over_ = false;
  std::vector<Ref<NcclGroup>> groups_;
  std::thread thread_;
};

}  // namespace

void watch_group(NcclGroup& group) { Watch::get().add(group); }

}  // namespace tw::cuda

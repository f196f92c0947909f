// What the links of one group have of UCX: a worker, which is one thread's at a time, as a group is. Nothing
// of one group waits for another one's, and what is under way for a group that fails ends with its worker.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "comm/fork_guard.h"
#include "comm/ucx_library.h"

namespace tw::comm {

class Watcher;

// Ahead of what goes over UCX.
struct UcxHeader {
  int32_t process = 0;   // the sender's
  uint16_t channel = 0;  // 0: calls, 1: messages, 2: neither, the link itself
  uint16_t credit = 0;   // no data: the other side has read so far
  uint64_t at = 0;       // where in the stream the data begin
};

// A request that may be complete at once.
class UcxRequest {
 public:
  UcxRequest() = default;
  explicit UcxRequest(ucs_status_ptr_t request);
  UcxRequest(UcxRequest&& other) noexcept { swap(other); }
  UcxRequest& operator=(UcxRequest&& other) noexcept {
    swap(other);
    return *this;
  }
  ~UcxRequest();
  // UCS_INPROGRESS until it is over.
  ucs_status_t status();

 private:
  void swap(UcxRequest& other) noexcept {
    std::swap(request_, other.request_);
    std::swap(status_, other.status_);
  }
  void* request_ = nullptr;
  ucs_status_t status_ = UCS_OK;
};

class UcxReceiver {
 public:
  // Data of the stream, or (`remote`) a descriptor of data that wait on the other side: true keeps it.
  virtual bool receive(const UcxHeader& header, void* data, size_t size, bool remote) = 0;

 protected:
  ~UcxReceiver() = default;
};

class UcxWorker {
 public:
  static constexpr unsigned kMessageId = 1;

  explicit UcxWorker(Watcher* watcher);
  ~UcxWorker();
  UcxWorker(const UcxWorker&) = delete;

  ucp_worker_h get() const { return worker_; }
  std::string address() const;
  // Where what a process sends goes; null: nowhere.
  void set_receiver(int process, UcxReceiver* receiver);
  // Takes in what has come; whether that was something.
  bool progress();
  // After a progress that found nothing: what comes from now on shows on the descriptor that the watcher
  // sees; false while something is there.
  bool arm();
  // Without data where `data` is null; eager or a rendezvous. UCX copies the header, not the data.
  static UcxRequest send(ucp_ep_h endpoint, const UcxHeader& header, const char* data, size_t size,
                         bool eager);

 private:
  static ucs_status_t on_message(void* self, const void* header, size_t header_size, void* data, size_t size,
                                 const ucp_am_recv_param_t* param);

  ucp_worker_h worker_ = nullptr;
  std::unique_ptr<ForkGuard> guard_;
  std::map<int, UcxReceiver*> receivers_;
};

// The workers of groups, as long as a link has them.
class UcxWorkers {
 public:
  explicit UcxWorkers(Watcher* watcher) : watcher_(watcher) {}
  std::shared_ptr<UcxWorker> of(uint64_t group);

 private:
  Watcher* watcher_;
  std::mutex mutex_;
  std::map<uint64_t, std::weak_ptr<UcxWorker>> workers_;
};

}  // namespace tw::comm

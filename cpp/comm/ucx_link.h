// A link over UCX. A TCP connection carries the addresses of the two workers and stays: its end tells that
// the process is gone, which UCX says of some of its transports only, and not at once.
//
// UCX connects two workers while both make progress. Neither side writes before it has an answer of the other
// one: from then on small things that one has written do not wait for the other one to look. (A flush would
// tell that too, but UCX 1.22 crashes where an endpoint is closed by force while one is under way.)
#pragma once

#include "comm/link.h"
#include "comm/tcp_stream.h"
#include "comm/ucx_stream.h"

namespace tw::comm {

class FarPeer;

class UcxLink final : public Link, private UcxReceiver {
 public:
  // `self` is the caller's process. What the connection is to begin with has been written to it.
  UcxLink(FarPeer& peer, uint64_t group, int self, std::shared_ptr<UcxWorker> worker,
          std::unique_ptr<TcpStream> connection);
  ~UcxLink() override;

  Stream& calls() override { return calls_; }
  Stream& messages() override { return messages_; }
  // No memory of calls is touched any more afterwards.
  void fail(const std::string& reason) override;
  std::string failure_of_peer() override;
  bool take_in() override;
  bool may_sleep() override { return worker_->arm(); }
  bool drain() override;

 private:
  bool receive(const UcxHeader& header, void* data, size_t size, bool remote) override;
  bool connect();
  void greet(uint16_t what);
  bool prepare();
  void look_for_end();
  void close();

  FarPeer& peer_;
  uint64_t group_;
  int self_;
  std::shared_ptr<UcxWorker> worker_;
  std::unique_ptr<TcpStream> connection_;
  UcxStream calls_, messages_;
  ucp_ep_h endpoint_ = nullptr;
  bool greeted_ = false, answered_ = false;  // by the other side, since this one looked last
  ucs_status_t refused_ = UCS_OK;            // why there is no endpoint
  bool stopped_ = false;
  bool broken_ = false;  // UCX has said so
  // Times of now_ns(), 0: never. When something came last, when the end was looked for, when it showed.
  int64_t came_ = 0, looked_ = 0, end_shown_ = 0;
};

}  // namespace tw::comm

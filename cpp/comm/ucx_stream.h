// A stream over UCX's active messages.
//
// What is written goes in chunks that say where in the stream they begin. Small ones are gathered until
// `flush` and go at once (eager) into a ring on the other side, never more than that has room for: the reader
// says how far it has come. Large ones are offered (rendezvous): they stay in the caller's memory until the
// other side fetches them, to where they are wanted where that is known. So `write` takes from a large piece
// only what has gone, and wants to see the rest again; several chunks are under way ahead of that.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "comm/shared_memory.h"
#include "comm/stream.h"
#include "comm/ucx_worker.h"

namespace tw::comm {

class UcxStream final : public Stream {
 public:
  // `process` is the caller's own.
  UcxStream(UcxWorker& worker, int process, uint16_t channel);

  // From here on something goes out.
  void open(ucp_ep_h endpoint) {
    endpoint_ = endpoint;
    tell_progress();
  }
  void close() { endpoint_ = nullptr; }
  // As UcxReceiver says.
  bool receive(const UcxHeader& header, void* data, size_t size, bool remote);
  // Nothing comes any more.
  void end() { ended_ = true; }
  // Whether UCX still touches memory of the callers of `write` and `read`, or of the stream, too.
  bool touches_callers();
  bool touches_any();
  // Drops what has come.
  void drop();

  size_t write(const char* from, size_t size) override;
  size_t reach() const override { return kAheadBytes; }
  bool flush() override;
  std::span<const char> readable(size_t least) override;
  void consume(size_t size) override;
  size_t read(char* to, size_t size) override;
  bool ended() override { return ended_; }

 private:
  static constexpr size_t kRingBytes = 512 << 10;
  static constexpr size_t kGatherBytes = 16 << 10;
  static constexpr size_t kEagerBytes = 56 << 10;    // with its header one segment of TCP
  static constexpr size_t kRemoteBytes = 256 << 10;  // two of them in the ring: one comes, one is reduced
  static constexpr size_t kAheadBytes = 1 << 20;
  // What the system takes from UCX even when the other side does not look; the reader tells how far it has
  // come as often. (UCX can say that all has gone, but only with an answer of the other side.)
  static constexpr size_t kSystemBytes = 32 << 10;

  // On its way out.
  struct Sent {
    UcxRequest request;
    size_t taken;            // of the caller of `write`
    std::vector<char> kept;  // what was gathered
  };
  // Waits on the other side, or is being fetched.
  struct Remote {
    size_t size;
    void* descriptor;  // null once it is being fetched
    UcxRequest request = {};
    bool direct = false;  // to where the caller of `read` wants it, not into the ring
  };

  bool has_room(size_t size) const { return out_at_ + size <= peer_read_ + kRingBytes; }
  UcxRequest send(const char* data, size_t size, bool eager);
  bool send_gathered();
  void settle();
  void fetch(Remote& remote, char* to);
  void fetch_into_ring();
  void fetch_directly(char* to, size_t size);
  size_t take_direct();
  void arrive();
  char* ring(uint64_t at) const;
  void tell_progress();

  UcxWorker& worker_;
  int process_;
  uint16_t channel_;
  ucp_ep_h endpoint_ = nullptr;
  bool broken_ = false;  // something that was sent or fetched is lost
  bool ended_ = false;

  std::vector<char> out_;  // gathered
  std::deque<Sent> sent_;
  size_t ahead_ = 0, taken_ = 0;  // of the caller's memory: under way; gone, as it is still to be told
  uint64_t out_at_ = 0;           // where the next chunk begins
  uint64_t peer_read_ = 0;        // how far the other side has read

  Mapping memory_;  // the ring, mapped twice in a row
  // Consumed; come without a gap; consumed as the other side knows.
  uint64_t read_ = 0, have_ = 0, told_ = 0;
  std::map<uint64_t, size_t> early_;  // in the ring behind a gap
  std::map<uint64_t, Remote> remote_;
};

}  // namespace tw::comm

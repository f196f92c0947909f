// A stream over one TCP connection.
//
// Small writes are gathered until `flush`, large ones go straight from the caller's memory to the system;
// what comes is read into a buffer, or where there is much of it straight to where it is wanted. The system's
// buffers are all that lies between two processes, so that no stream waits for another one.
#pragma once

#include <vector>

#include "comm/fork_guard.h"
#include "comm/shared_memory.h"
#include "comm/stream.h"

namespace tw::comm {

class TcpStream final : public Stream {
 public:
  // A connected or connecting socket that does not block.
  explicit TcpStream(Descriptor socket);
  size_t write(const char* from, size_t size) override;
  bool flush() override;
  std::span<const char> readable(size_t least) override;
  void consume(size_t size) override { in_first_ += size; }
  size_t read(char* to, size_t size) override;
  bool ended() override;
  // Drops what has come, so that closing does not cut off what is on its way out; false while something is.
  bool drain();
  int fd() const { return socket_.get(); }

 private:
  size_t send(const char* more, size_t size);
  size_t receive(char* to, size_t size);

  Descriptor socket_;
  ForkGuard guard_;
  std::vector<char> out_;  // gathered
  size_t out_sent_ = 0;    // of it
  // What has come and was not consumed lies in [in_first_, in_end_) of the buffer. Positions in the stream
  // and in the buffer agree in their remainder of kAlign, so that what is aligned in one is aligned in the
  // other.
  struct alignas(kAlign) Line {
    char bytes[kAlign];
  };
  char* in() { return in_.front().bytes; }
  std::vector<Line> in_;
  size_t in_first_ = 0, in_end_ = 0;
  bool broken_ = false;  // nothing goes out any more
  bool ended_ = false;   // nothing comes any more
};

}  // namespace tw::comm

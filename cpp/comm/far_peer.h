// A process of another machine: one TCP connection tells that it is there and carries reasons of failures,
// and each group has two more, for calls and messages, or one and an endpoint of UCX.
#pragma once

#include <map>
#include <mutex>

#include "comm/link.h"
#include "comm/lobby.h"
#include "comm/tcp_stream.h"

namespace tw::comm {

class UcxWorkers;

// What the connections of a process have in common.
struct FarContext {
  Lobby* lobby = nullptr;
  Watcher* watcher = nullptr;
  UcxWorkers* workers = nullptr;
  uint64_t job = 0;
  int process = 0;  // the caller's
};

class FarPeer final : public Peer {
 public:
  // `control`: the connection for the channel of that name.
  FarPeer(int process, const sockaddr_in& address, Transport transport, Descriptor control,
          const FarContext& context);

  Transport transport() const override { return transport_; }

  std::unique_ptr<Link> make_link(uint64_t group) override;
  std::unique_ptr<Link> take_link(uint64_t group) override;
  bool gone() override;
  bool lost() override;

  // Reasons of failures, to the process and from it.
  void send_failure(uint64_t group, const std::string& reason);
  std::string failure(uint64_t group);

 private:
  struct Notice {
    uint64_t group = 0;
    char reason[2040] = {};
  };
  Hello hello(uint64_t group, Channel channel) const;
  std::unique_ptr<TcpStream> call(uint64_t group, Channel channel) const;
  std::unique_ptr<TcpStream> expect(uint64_t group, Channel channel) const;
  std::unique_ptr<Link> link(uint64_t group, std::unique_ptr<TcpStream> calls,
                             std::unique_ptr<TcpStream> messages);
  void watch(const Descriptor& socket) const;
  void receive();

  sockaddr_in address_;
  Transport transport_;
  FarContext context_;
  Descriptor control_;
  ForkGuard guard_;
  std::mutex mutex_;  // guards what follows
  Notice coming_;
  size_t come_ = 0;  // bytes of it
  std::map<uint64_t, std::string> failures_;
  std::map<uint64_t, std::unique_ptr<TcpStream>> calls_;  // of groups whose other connection has not come yet
  bool gone_ = false, lost_ = false;
  bool tells_ = true;  // notices go out whole so far
};

}  // namespace tw::comm

// Blocking sockets with deadlines: the rendezvous over TCP, and Unix sockets between processes of one
// machine, which carry file descriptors and whose end tells that the other process is gone.
#pragma once

#include <cstdint>
#include <string>

#include "comm/shared_memory.h"

namespace tw::comm {

// All functions throw kComm, naming `what`, when `deadline_ns` (of now_ns()) passes or the other side closes.

// Listens on a TCP port of all addresses, 0 for any; an empty descriptor when somebody else has it.
Descriptor listen_tcp(int port);
// Tries again and again until somebody answers.
Descriptor connect_tcp(const std::string& host, int port, int64_t deadline_ns, const std::string& what);
// Names that begin with a zero byte: no file, gone with the socket.
Descriptor listen_unix(const std::string& name);
Descriptor connect_unix(const std::string& name, const std::string& what);
void set_nonblocking(const Descriptor& socket);
Descriptor accept_one(const Descriptor& listener, int64_t deadline_ns, const std::string& what);

void send_all(const Descriptor& socket, const void* data, size_t size, int64_t deadline_ns,
              const std::string& what);
void receive_all(const Descriptor& socket, void* data, size_t size, int64_t deadline_ns,
                 const std::string& what);

// A number and a descriptor, as one message.
void send_descriptor(const Descriptor& socket, uint64_t number, int fd, const std::string& what);
enum class Received { kNothing, kOne, kClosed };
// Never blocks.
Received receive_descriptor(const Descriptor& socket, uint64_t* number, Descriptor* fd);

}  // namespace tw::comm

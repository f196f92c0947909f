// What two processes have in common for one group: a stream for collective calls, one for messages, and for
// each side a word of what has made it give up. In shared memory on one machine (ring_link.h); between
// machines over TCP (far_peer.h) or UCX (ucx_link.h).
#pragma once

#include <memory>
#include <string>

#include "comm/stream.h"

namespace tw::comm {

class Link {
 public:
  virtual ~Link() = default;
  virtual Stream& calls() = 0;
  virtual Stream& messages() = 0;
  // Tells the other side why this one has given up; the first reason stays.
  virtual void fail(const std::string& reason) = 0;
  // The reason of the other side, empty while there is none.
  virtual std::string failure_of_peer() = 0;
  // Before the streams are looked at: takes in what has come; whether that was something.
  virtual bool take_in() { return false; }
  // Before this thread sleeps: what comes from now on wakes it; false when something has come already.
  virtual bool may_sleep() { return true; }
  // For a process that is about to end: drops what has come; whether the other side will get all that was
  // written.
  virtual bool drain() = 0;
};

// How bytes get to a process.
enum class Transport : int { kMemory, kTcp, kUcx };

// Another process of the job. Safe to use from any thread.
class Peer {
 public:
  explicit Peer(int process) : process_(process) {}
  virtual ~Peer() = default;
  int process() const { return process_; }
  virtual Transport transport() const = 0;

  // The link of a group. The process with the lower number makes it, without waiting for the other one, which
  // takes it once it has come; null until then.
  virtual std::unique_ptr<Link> make_link(uint64_t group) = 0;
  virtual std::unique_ptr<Link> take_link(uint64_t group) = 0;
  // Whether the process has ended. What it has written before may still be on its way...
  virtual bool gone() = 0;
  // ... and whether that, too, is lost or has come.
  virtual bool lost() = 0;

 private:
  int process_;
};

}  // namespace tw::comm

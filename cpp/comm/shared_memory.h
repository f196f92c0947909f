// Memory that several processes map: anonymous files, which vanish with the last process that holds them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace tw::comm {

// A file descriptor, closed with its owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Zeroed memory of that size that has no name; throws kOs.
Descriptor make_shared_memory(size_t size_bytes);

// A mapping, undone with its owner.
class Mapping {
 public:
  Mapping() = default;
  Mapping(int fd, size_t size_bytes);  // throws kOs
  // After `head_bytes` the file holds `buffers` of equal size, each of which is mapped twice in a row:
  // what wraps around the end of one can be read in one piece.
  Mapping(int fd, size_t head_bytes, size_t buffer_bytes, int buffers);
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Mapping();
  char* data() const { return data_; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
};

// One word a process, on which it sleeps whatever it waits for, and which its peers ring.
struct alignas(64) Doorbell {
  std::atomic<uint32_t> rings{0};
  alignas(64) std::atomic<uint32_t> sleepers{0};

  // After something was published with a sequentially consistent store: wakes whoever sleeps.
  void ring();
  // Announces a sleeper. Between this and `leave`: read `rings`, look once more for work, then `sleep`.
  void enter() { sleepers.fetch_add(1, std::memory_order_seq_cst); }
  void leave() { sleepers.fetch_sub(1, std::memory_order_seq_cst); }
  // Returns once `rings` is no longer `seen`, after `timeout_ns`, or for no reason.
  void sleep(uint32_t seen, int64_t timeout_ns);
};

}  // namespace tw::comm

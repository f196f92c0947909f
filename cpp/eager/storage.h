// A block of memory that tensors share: what views alias, and whose version in-place ops advance.
#pragma once

#include <atomic>
#include <functional>
#include <span>

#include "base/intrusive.h"
#include "device/backend.h"
#include "eager/free_list.h"

namespace tw::eager {

// Work on another thread that uses memory.
class Work : public RefCounted {
 public:
  // Blocks until it has ended, without the interpreter lock.
  virtual void wait() = 0;
  virtual bool done() const = 0;
  // Once it has ended: throws what made it fail, if that has to be told here. `result`: to somebody who reads
  // what it should have made, and who is told every time; others only where nobody has been told before.
  virtual void check(bool result) = 0;
};

class Storage final : public RefCounted, public FreeListed<Storage> {
 public:
  // Memory of a backend's allocator.
  Storage(device::Device device, size_t size_bytes);
  // Memory that somebody else owns (a NumPy array, a DLPack tensor); `release` runs when the last tensor is
  // gone.
  Storage(device::Device device, void* data, size_t size_bytes, std::function<void()> release);
  // No memory yet: what it holds is known only as values of a graph that is being recorded (see tracer.h).
  struct Symbolic {};
  Storage(device::Device device, size_t size_bytes, Symbolic);
  // That of a global tensor: no memory of its own, which its parts have, but a version for what views share.
  struct Global {};
  Storage(size_t size_bytes, Global);
  ~Storage() override;

  // Waits for the work that uses the memory; throws what made it fail, and kRuntime for symbolic memory and
  // that of global tensors.
  void* data() const {
    if (!plain_.load(std::memory_order_acquire)) [[unlikely]]
      settle();
    return data_;
  }
  // The same without waiting: for work that begins when that has ended, and does not when it has failed.
  void* data_for_later() const {
    if (!plain_.load(std::memory_order_acquire)) check_for_later();
    return data_;
  }
  // The memory is used by `work`, which ends after all that was told before; as results of it or otherwise.
  static void use(std::span<Storage* const> storages, const Ref<Work>& work, bool results);

  bool symbolic() const { return symbolic_; }
  bool foreign() const { return foreign_; }
  // Symbolic memory becomes memory of the allocator, its elements unset.
  void materialize();
  // Symbolic memory becomes that of `other`, which is as large and is left with none.
  void take_over(Storage& other);
  size_t size_bytes() const { return size_bytes_; }
  device::Device device() const { return device_; }
  // Replaces the memory by a fresh block of another size, keeping the leading bytes.
  void resize(size_t size_bytes);

  // Advanced by every write through any tensor; saved values compare it.
  uint32_t version = 0;
  bool read_only = false;  // foreign memory that must not be written

 private:
  void free();
  void settle() const;
  void check_for_later() const;
  [[noreturn]] void fail_without_memory() const;
  device::Device device_;
  void* data_ = nullptr;
  size_t size_bytes_ = 0;
  std::function<void()> release_;
  bool foreign_ = false;
  bool symbolic_ = false;
  bool global_ = false;
  mutable std::atomic<bool> plain_ = true;  // has memory, which no work uses
  mutable Ref<Work> maker_, user_;  // the work that writes what it holds first, and the last to use it
};

}  // namespace tw::eager

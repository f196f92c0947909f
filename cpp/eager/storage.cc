#include "eager/storage.h"

#include <utility>

#include <algorithm>
#include <mutex>

#include "base/error.h"
#include "device/accelerator.h"

namespace tw::eager {

namespace {

std::mutex g_work;  // guards maker_ and user_ of all storages

using device::backend_of;
}  // namespace

Storage::Storage(device::Device device, size_t size_bytes)
    : device_(device),
      data_(backend_of(device).allocate(size_bytes, device.index)),
      size_bytes_(size_bytes) {}

Storage::Storage(device::Device device, void* data, size_t size_bytes, std::function<void()> release)
    : device_(device), data_(data), size_bytes_(size_bytes), release_(std::move(release)), foreign_(true) {}

Storage::Storage(device::Device device, size_t size_bytes, Symbolic)
    : device_(device), size_bytes_(size_bytes), symbolic_(true), plain_(false) {}

Storage::Storage(size_t size_bytes, Global) : size_bytes_(size_bytes), global_(true), plain_(false) {}

Storage::~Storage() { free(); }

void Storage::materialize() {
  data_ = backend_of(device_).allocate(size_bytes_, device_.index);
  symbolic_ = false;
  plain_ = true;
}

void Storage::use(std::span<Storage* const> storages, const Ref<Work>& work, bool results) {
  std::lock_guard lock(g_work);
  for (Storage* storage : storages) {
    (results ? storage->maker_ : storage->user_) = work;
    storage->plain_.store(false, std::memory_order_release);
  }
}

void Storage::settle() const {
  if (symbolic_ || global_) fail_without_memory();
  std::unique_lock lock(g_work);
  while (maker_ || user_) {
    Ref<Work> maker = maker_, user = user_;
    lock.unlock();
    for (const Ref<Work>& work : {maker, user})
      if (work) work->wait();
    if (maker) maker->check(true);
    if (user) user->check(false);
    lock.lock();
    if (maker_ == maker) maker_ = nullptr;
    if (user_ == user) user_ = nullptr;
  }
  plain_.store(true, std::memory_order_release);
}

void Storage::check_for_later() const {
  if (symbolic_ || global_) fail_without_memory();
  std::unique_lock lock(g_work);
  Ref<Work> maker = maker_;
  lock.unlock();
  if (maker && maker->done()) maker->check(true);
}

void Storage::take_over(Storage& other) {
  TW_CHECK(symbolic_ && !other.symbolic_ && !other.foreign_ && size_bytes_ == other.size_bytes_ &&
               device_ == other.device_,
           kInternal, "take_over: memory of ", size_bytes_, " bytes of the allocator is wanted");
  other.data();  // waits for what makes it
  data_ = std::exchange(other.data_, nullptr);
  other.symbolic_ = true;
  other.plain_.store(false, std::memory_order_release);
  symbolic_ = false;
  plain_.store(true, std::memory_order_release);
}

void Storage::fail_without_memory() const {
  TW_CHECK(!global_, kRuntime,
           "a global tensor has no memory of its own: its parts do, which to_local() gives; "
           "to_global(sbp=sbp.broadcast) makes every part the whole");
  TW_FAIL(
      kRuntime,
      "the elements of a tensor in a traced function are not known while it is traced: they cannot be read, "
      "converted to Python numbers or given to other libraries");
}

void Storage::free() {
  if (symbolic_ || global_) return;
  if (foreign_) {
    if (release_) release_();
  } else {
    backend_of(device_).free(data_, size_bytes_, device_.index);
  }
}

void Storage::resize(size_t size_bytes) {
  data();
  device::Backend& backend = backend_of(device_);
  void* fresh = backend.allocate(size_bytes, device_.index);
  backend.copy(fresh, data_, std::min(size_bytes, size_bytes_), backend.current_stream(device_.index));
  free();
  data_ = fresh;
  size_bytes_ = size_bytes;
  foreign_ = false;
  release_ = nullptr;
}

}  // namespace tw::eager

#include "comm/shared_memory.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>

#include "base/error.h"

namespace tw::comm {

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

Descriptor make_shared_memory(size_t size_bytes) {
  Descriptor memory(memfd_create("thalweg", MFD_CLOEXEC));
  TW_CHECK(memory, kOs, "shared memory: ", std::strerror(errno));
  TW_CHECK(ftruncate(memory.get(), static_cast<off_t>(size_bytes)) == 0, kOs, "shared memory of ", size_bytes,
           " bytes: ", std::strerror(errno));
  return memory;
}

Mapping::Mapping(int fd, size_t size_bytes) : size_(size_bytes) {
  void* data = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  TW_CHECK(data != MAP_FAILED, kOs, "mapping of shared memory: ", std::strerror(errno));
  data_ = static_cast<char*>(data);
}

Mapping::Mapping(int fd, size_t head_bytes, size_t buffer_bytes, int buffers)
    : size_(head_bytes + 2 * buffer_bytes * static_cast<size_t>(buffers)) {
  void* room = mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  TW_CHECK(room != MAP_FAILED, kOs, "mapping of shared memory: ", std::strerror(errno));
  data_ = static_cast<char*>(room);
  auto map = [&](size_t place, size_t bytes, size_t offset) {
    void* data = mmap(data_ + place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                      static_cast<off_t>(offset));
    if (data != MAP_FAILED) return;
    int error = errno;
    munmap(data_, size_);
    data_ = nullptr;
    TW_FAIL(kOs, "mapping of shared memory: ", std::strerror(error));
  };
  map(0, head_bytes, 0);
  for (int b = 0; b < buffers; b++) {
    for (int twice = 0; twice < 2; twice++)
      map(head_bytes + (2 * b + twice) * buffer_bytes, buffer_bytes, head_bytes + b * buffer_bytes);
  }
}

Mapping::~Mapping() {
  if (data_) munmap(data_, size_);
}

void Doorbell::ring() {
  if (sleepers.load(std::memory_order_seq_cst) == 0) return;
  rings.fetch_add(1, std::memory_order_seq_cst);
  syscall(SYS_futex, &rings, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Doorbell::sleep(uint32_t seen, int64_t timeout_ns) {
  timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  syscall(SYS_futex, &rings, FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

}  // namespace tw::comm

#include "cuda/common/mistakes.h"

#include <array>
#include <atomic>
#include <mutex>
#include <string_view>

#include "base/error.h"
#include "cuda/common/runtime.h"

namespace tw::cuda {

namespace {

constexpr size_t kMostNotes = 256;  // ops times kinds of mistakes

class Notes {
 public:
  MistakeNote find(const char* op, TellMistake tell) {
    std::lock_guard lock(mutex_);
    size_t known = count_.load(std::memory_order_relaxed);
    for (size_t i = 0; i < known; i++)
      if (owners_[i].tell == tell && std::string_view(owners_[i].op) == op) return {memory() + i};
    TW_CHECK(known < kMostNotes, kInternal, op, ": more than ", kMostNotes, " kinds of mistakes");
    owners_[known] = {op, tell};
    count_.store(known + 1, std::memory_order_release);
    return {memory() + known};
  }

  void check() {
    size_t known = count_.load(std::memory_order_acquire);
    for (size_t i = 0; i < known; i++)
      if (__atomic_load_n(&memory_[i].at[1], __ATOMIC_ACQUIRE) != 0) [[unlikely]]
        tell(i);
  }

 private:
  struct Owner {
    const char* op;
    TellMistake tell;
  };

  Pack<int64_t, 2>* memory() {
    if (!memory_) {
      void* data = nullptr;
      size_t bytes = kMostNotes * sizeof(*memory_);
      cuda::check(cudaHostAlloc(&data, bytes, cudaHostAllocMapped | cudaHostAllocPortable), "mistake_note");
      memory_ = static_cast<Pack<int64_t, 2>*>(data);
      for (size_t i = 0; i < kMostNotes; i++) memory_[i] = {};
    }
    return memory_;
  }

  void tell(size_t i) {
    Pack<int64_t, 2> note;
    {
      std::lock_guard lock(mutex_);
      note = memory_[i];
      for (size_t n = 0; n < count_.load(std::memory_order_relaxed); n++) memory_[n] = {};
    }
    if (note.at[1] == 0) return;  // another thread has told it
    owners_[i].tell(owners_[i].op, note.at[0], MistakeNote::unsealed(note.at[1]));
  }

  std::mutex mutex_;
  std::atomic<size_t> count_{0};
  std::array<Owner, kMostNotes> owners_{};
  Pack<int64_t, 2>* memory_ = nullptr;
};

// Kernels may write until the process ends.
Notes& notes() {
  static auto* all = new Notes;
  return *all;
}

}  // namespace

MistakeNote mistake_note(const char* op, TellMistake tell) { return notes().find(op, tell); }

void index_out_of_bounds(const char* op, int64_t index, int64_t size_of_dim) {
  TW_FAIL(kIndex, op, ": index ", index, " is out of bounds for dim ", size_of_dim >> 48, " of size ",
          size_of_dim & ((int64_t{1} << 48) - 1));
}

void check_mistakes() { notes().check(); }

}  // namespace tw::cuda

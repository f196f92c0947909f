// Reads batches ahead, so that reading hides behind what the caller does with those before.
//
// A plan of two actors. A host input reads, on a thread of its own, and is never asked: it fires as long as
// the register behind it has a free slot, so the number of slots is how many batches may lie ready. A chain,
// run by whoever takes a batch, hands one over in each step: where one lies ready, no thread has to wake.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "runtime/executable.h"

namespace tw::session {

class Reader {
 public:
  using Batch = std::shared_ptr<void>;

  // `next` gives a batch, or throws: then take() throws that in its turn, after the batches before. It is
  // called by a thread of the reader, one call at a time. Throws kValue unless `ahead` is positive.
  Reader(std::function<Batch()> next, int ahead);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Blocks until there is a batch. Any thread may call.
  Batch take();
  // Blocks until `next` has returned, where it runs, and drops what lies ready. Nothing may be taken after
  // it.
  void stop();

 private:
  class Source;
  void read();
  void hand_over();
  void forget(int64_t count);

  std::function<Batch()> next_;
  std::mutex taking_;  // one at a time
  std::mutex mutex_;
  std::deque<Batch> ready_;
  Batch taken_;
  std::unique_ptr<runtime::Executable> executable_;
};

}  // namespace tw::session

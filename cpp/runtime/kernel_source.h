// Where the runtime gets kernels from: the session, which knows the ops, resolves each launch once.
#pragma once

#include <memory>

#include "base/scalar.h"
#include "comm/request.h"
#include "device/kernel.h"
#include "plan/plan.h"

namespace tw::runtime {

// A launch's kernel and the attributes it is called with; the executable owns it. Kernels of chains neither
// wait nor take locks that others hold for long, but for boxings in regions, which wait for other processes.
// Those of host calls and host inputs may (the interpreter's, a queue's); an exception that is no tw::Error
// reaches the caller of wait() as it is.
class LaunchKernel {
 public:
  virtual ~LaunchKernel() = default;
  // Writes a number of this run into the attributes; called before the launch and never during it.
  virtual void write_number(const plan::Lifted& where, const Scalar& value) = 0;
  // A random kernel that is told in its attributes of which part of a whole it draws the numbers: it is part
  // `part` now. Called as write_number is.
  virtual void set_part(int64_t part) { static_cast<void>(part); }
  // Called from another thread when the run is being stopped: a host kernel that waits should return, by an
  // error, and so should a loop, after an iteration. Comes at any time after the executable was made,
  // possibly when nothing runs, and for that run only.
  virtual void cancel() {}
  // That run is over.
  virtual void resume() {}
  // To a host input after a failure: what the last `firings` firings gave was thrown away before anybody read
  // it.
  virtual void rewind(int64_t firings) { static_cast<void>(firings); }

  // Of a communication, in place of `kernel`: begins it and returns what will be complete later, null where
  // it is already. Until then its operands are read and written. Called and tested by one thread, without
  // waiting.
  virtual Ref<comm::Request> post(const device::KernelContext& context);
  // To every communication of a step that has failed, whether it was posted or not: other processes that wait
  // in it are to hear why, and its memory is not touched any more. Called by the thread that posts; of a
  // region in which processes meet, also by another one while it runs, so that it does not wait any longer.
  virtual void give_up(const std::string& reason) { static_cast<void>(reason); }

  device::Kernel kernel = nullptr;
  void* attributes = nullptr;
  int random_key_offset = -1;  // of a PhiloxKey in the attributes
  bool recordable = true;      // what it queues on an accelerator is all on the device of its launch
};

class KernelSource {
 public:
  virtual ~KernelSource() = default;
  // Throws when no kernel fits. Called in the order of actors and launches, by the maker of the executable.
  virtual std::unique_ptr<LaunchKernel> bind(const plan::Launch& launch) = 0;
  // Of a launch of control flow: where the kernels of its plan number `body` come from. It may be dropped
  // when they have been bound.
  virtual std::unique_ptr<KernelSource> body(const plan::Launch& launch, int body);
};

}  // namespace tw::runtime

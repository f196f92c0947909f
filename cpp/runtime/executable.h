// A plan made ready to run: kernels resolved, arenas allocated, workers (if it needs any) started.
#pragma once

#include <memory>

#include "device/backend.h"
#include "runtime/kernel_source.h"
#include "runtime/observer.h"
#include "runtime/steps.h"

namespace tw::runtime {

class Chain;
class Engine;
class RecordingSource;
class Sequence;

struct Options {
  int steps_in_flight = 4;       // how many runs may have started and not be done
  int workers = 0;               // threads that run chains; 0: as many as streams and usable cores allow
  bool caller_works = false;     // whoever waits for a run is the first of them: it moves only meanwhile
  Observer* observer = nullptr;  // sees every launch and firing; must outlive the executable
};

class Executable;

// A run that has been started. Must not outlive its executable. wait() may be called more than once, from any
// thread.
class Run {
 public:
  // Blocks until the run is done; throws what stopped it.
  void wait();
  bool done() const;
  // After wait() has thrown: variables may have been written to in part.
  bool touched_variables() const;

 private:
  friend class Executable;
  Run(Executable* executable, int64_t step) : executable_(executable), step_(step) {}
  Executable* executable_;
  int64_t step_;
};

class Executable {
 public:
  // Checks the plan; throws what check_plan, the kernel source and the allocator throw.
  Executable(plan::Plan plan, KernelSource& source, Options options = {});
  // Stops what runs; host kernels are told to cancel. Blocks until they have returned.
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  const plan::Plan& plan() const { return plan_; }
  int64_t arena_bytes() const;
  // Firings that begin from now on are seen by `observer`, which must outlive the executable; null: by
  // nobody.
  void observe(Observer* observer) { observer_.store(observer, std::memory_order_relaxed); }
  // Of the last run on an accelerator: how many launches came out of recordings (replay.h).
  size_t recorded_launches() const;
  // Threads of its own, those of host calls included; 0: runs on the caller's.
  int thread_count() const;

  // Runs a step to its end; on accelerators to where its last launch is queued on the current streams of
  // their devices. A plan of a single chain, and any on accelerators, runs on the caller's thread; others run
  // on workers while the caller sleeps. A failure stops the step everywhere and is thrown, the first cause,
  // with module and origin; the next run works. Any thread may call; runs begin in the order of the calls.
  // Returns by how many draws it took more than Plan::draws, which may be negative; see has_open_draws.
  int64_t run(const Bindings& bindings);
  // Starts a step. Blocks while `steps_in_flight` steps are not done. A failure of a run that nobody waited
  // for is thrown here, by the start that takes its place. When a run fails, those started after it fail with
  // it.
  Run start(const Bindings& bindings);

 private:
  friend class Run;
  struct Arena {
    void* data;
    size_t size_bytes;
    device::Device device;
  };
  bool elsewhere() const { return devices_[0].type != device::DeviceType::kCpu; }
  void follow_streams();
  void record_chains();
  void allocate_arenas();
  void free_arenas();
  void run_here(const Bindings& bindings);
  int64_t start_here(const Bindings& bindings);
  void wait(int64_t step);
  StepRing& steps();

  plan::Plan plan_;
  Options options_;
  std::vector<device::Device> devices_;       // of the plan: all are CPUs, or none is
  std::vector<Ref<device::Stream>> streams_;  // of accelerators: that the last run was queued on
  BindingLayout layout_;
  std::vector<Arena> arenas_;
  std::vector<char*> bases_;                                  // of arenas, by segment
  std::vector<std::unique_ptr<RecordingSource>> recordings_;  // by device; none where nothing is recorded
  std::vector<std::unique_ptr<Chain>> chains_;
  std::atomic<Observer*> observer_;
  std::unique_ptr<Engine> engine_;      // null: the caller runs
  std::unique_ptr<Sequence> sequence_;  // several actors, or null: one chain

  // Of what the caller runs.
  StepRing finished_;
  StepBindings step_;
  int64_t next_step_ = 0;
};

}  // namespace tw::runtime

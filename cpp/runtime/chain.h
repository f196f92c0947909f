// An actor's launches with everything resolved: kernels, operands and addresses. Firing one is a loop of
// calls.
#pragma once

#include <memory>
#include <vector>

#include "base/error.h"
#include "base/philox.h"
#include "device/recording.h"
#include "runtime/bindings.h"
#include "runtime/kernel_source.h"
#include "runtime/observer.h"

namespace tw::runtime {

class RecordingSource;
class RegionLaunch;
class Replay;

class Chain {
 public:
  // `plan` must outlive the chain. `arenas` are addresses by segment, null for segments of other kinds.
  Chain(const plan::Plan& plan, int actor, KernelSource& source, const std::vector<char*>& arenas);
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  // Points the operands at a step's memory and writes its numbers; before the first firing of the step. A
  // host input has no step.
  void bind(const StepBindings& step);
  // Runs firing `firing` (counted over all steps). A tw::Error gets the module and the user's line of its
  // launch; any exception leaves position() at the launch.
  void fire(int64_t firing);
  // The device of the plan that all its launches run on; -1: they run on several.
  int device() const { return device_; }
  // Of a chain of rate 1 on one device whose operands stay where they are in a step: fire() goes through a
  // recording from now on. The source must outlive the chain.
  void record_on(RecordingSource& source);
  const Replay* replay() const { return replay_.get(); }
  // The same, and reports every launch and the firing.
  void fire_observed(int64_t firing, Observer& observer);
  // Of a communication, in place of fire(): begins it; null where it is complete. complete() says whether it
  // is now; both throw as fire() does.
  Ref<comm::Request> post(int64_t firing);
  bool complete(comm::Request& request) const;
  // On accelerators: what the streams of its devices are given from now on waits for it.
  void follow(comm::Request& request) const;
  void give_up(const std::string& reason);
  // Other processes take part in what some of its launches do.
  bool meets() const;

  size_t position() const { return static_cast<size_t>(at_ - entries_.data()); }
  // The last firing threw in the part that writes variables.
  bool failed_in_commit() const;
  void cancel();
  void resume();
  void rewind(int64_t firings);
  // By how many draws the last firing took more, in regions, than its plan says; may be negative.
  int64_t extra_draws() const { return extra_draws_; }
  // A region that is draw number `draw` of the chain took `extra` more than that one.
  void move_draws(int64_t draw, int64_t extra);

  ~Chain();

 private:
  struct Entry {
    device::Kernel kernel;
    unsigned phases;  // bit mask of Phase
    int device;       // the number of an accelerator among its kind, where there are several; else -1
    device::KernelContext context;
  };
  enum Phase : unsigned { kFirst = 1, kMiddle = 2, kLast = 4 };

  // Operands [begin, end) of patches_ lie in `segment`.
  struct Group {
    int segment, begin, end;
    char* base;  // where they point now
  };
  struct Patch {
    void** data;
    int64_t offset_bytes;
    int launch;
  };
  // An operand whose address depends on the firing.
  struct Moving {
    void** data;
    const plan::Value* value;
    const plan::Register* reg;  // null: a part of a segment
    int segment;
  };
  struct Key {
    PhiloxKey* key;
    int64_t draw;
    LaunchKernel* launch;
    int number;  // of the launch
  };
  struct RegionAt {
    RegionLaunch* launch;
    int64_t draw;  // -1: none
  };
  struct Number {
    LaunchKernel* launch;
    plan::Lifted where;
    Scalar written;
    bool is_written;
    int number_of_launch;
  };

  void add_launch(const plan::Launch& launch, KernelSource& source);
  int device_of(const plan::Launch& launch) const;
  void make(Entry& entry);
  device::Operand operand(int value);
  void place(void** data, int value, int launch, const std::vector<char*>& arenas,
             std::vector<std::vector<Patch>>& by_segment);
  void move(int64_t firing);
  PhiloxKey key_of(int64_t draw) const;
  unsigned prepare(int64_t firing);
  [[noreturn]] void rethrow(const Error& error) const;

  const plan::Plan& plan_;
  const int number_;
  const plan::Actor& actor_;
  int device_ = -1;
  bool switches_ =
      false;  // the plan is for several accelerators: each launch needs its own as the current one
  std::vector<Entry> entries_;
  Entry* at_ = nullptr;
  std::vector<std::unique_ptr<LaunchKernel>> kernels_;
  std::vector<device::Operand> operands_;
  std::vector<Group> groups_;
  std::vector<Patch> patches_;
  std::vector<Moving> moving_;
  std::vector<Key> keys_;
  std::vector<Number> numbers_;
  std::vector<RegionAt> regions_;
  int64_t extra_draws_ = 0;
  std::vector<char*> bases_;  // of the current step; arenas too
  uint64_t seed_ = 0, first_draw_ = 0;
  std::span<const PhiloxKey> drawn_keys_;  // of each draw of the step; empty: from the two above
  int64_t part_ = -1;
  std::unique_ptr<Replay> replay_;  // null: launches are made one by one
};

}  // namespace tw::runtime

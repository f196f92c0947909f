// What has run, and when: kernels that dispatch launched, launches and firings of plans, and ranges that the
// front end marks.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "eager/dispatch.h"
#include "plan/plan.h"
#include "runtime/observer.h"

namespace tw::session {

// What an event was, shared by those that are alike.
struct ProfileLabel {
  std::string kind = "";  // "op", "launch", "actor", or that of a range
  std::string name = "";
  std::string module = "", origin = "";  // the module's path and the user's line
  std::string program = "";              // of launches and actors: the plan's name
  std::string stream = "";               // and the stream's kind and number
  std::string shapes = "";               // of ops, where they are asked for
  int64_t bytes = 0;                     // read and written
};

struct ProfileEvent {
  int label;   // into Profile::labels
  int thread;  // into Profile::threads
  int64_t begin_ns, end_ns;
};

struct Profile {
  std::deque<ProfileLabel> labels;
  std::vector<ProfileEvent> events;  // in the order of their ends, by thread
  std::vector<std::string> threads;  // their names
};

// Labels of a plan's launches; belongs to the executable of the plan.
class PlanObserver final : public runtime::Observer {
 public:
  explicit PlanObserver(const plan::Plan& plan) : plan_(plan) {}
  void fired(int actor, int64_t firing, int64_t begin_ns, int64_t end_ns) override;
  void launched(int actor, int64_t firing, int launch, int64_t begin_ns, int64_t end_ns) override;

 private:
  friend class Profiler;
  const plan::Plan& plan_;
  int profile_ = 0;  // the labels are of this one
  std::vector<int> actors_;
  std::vector<std::vector<int>> launches_;
};

struct ProfileOptions {
  bool shapes = false;
  std::function<std::string()> origin;  // of an op that has just run; called by its thread
};

// The one profile that is being recorded, if any.
class Profiler final : public eager::LaunchObserver {
 public:
  static Profiler& get();
  static bool active() { return active_.load(std::memory_order_relaxed); }

  // Throws kRuntime when a profile is being recorded.
  void start(ProfileOptions options);
  Profile stop();
  // Of this thread: ops that it runs are recorded under the module. Returns the one before.
  static std::string swap_module(std::string module);
  void add_range(ProfileLabel label, int64_t begin_ns, int64_t end_ns);
  void add_firing(PlanObserver& plan, int actor, int64_t begin_ns, int64_t end_ns);
  void add_launch(PlanObserver& plan, int actor, int launch, int64_t begin_ns, int64_t end_ns);
  void launched(const ir::OpDef& def, const device::KernelContext& context, int64_t begin_ns,
                int64_t end_ns) override;

 private:
  int add_label(ProfileLabel label);
  void add_labels(PlanObserver& observer);
  void add_event(int label, int64_t begin_ns, int64_t end_ns);

  static std::atomic<bool> active_;
  std::mutex mutex_;
  int number_ = 0;  // of the profile; counts from 1
  std::shared_ptr<const ProfileOptions> options_;
  Profile profile_;
  std::vector<std::string> threads_;  // that have ever been seen
};

}  // namespace tw::session

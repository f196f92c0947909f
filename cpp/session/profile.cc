#include "session/profile.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plan/fields.h"

namespace tw::session {

namespace {

thread_local int t_thread = -1;
thread_local std::string t_module;

std::string name_of_thread() {
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  return cat(name, " ", syscall(SYS_gettid));
}

int64_t bytes_of(const device::KernelContext& context) {
  int64_t bytes = 0;
  for (std::span<const device::Operand> operands :
       {context.inputs, std::span<const device::Operand>(context.outputs)})
    for (const device::Operand& operand : operands)
      if (operand.sizes) bytes += operand.count() * size_of(operand.dtype);
  return bytes;
}

int64_t bytes_of(const plan::Plan& plan, const plan::Launch& launch) {
  int64_t bytes = 0;
  for (const std::vector<int>* values : {&launch.inputs, &launch.outputs})
    for (int value : *values)
      if (value >= 0) bytes += numel(plan.values[value].sizes) * size_of(plan.values[value].dtype);
  return bytes;
}

std::string shapes_of(const device::KernelContext& context) {
  std::string text;
  for (const device::Operand& operand : context.inputs)
    text += text.empty() ? "" : ", ", text += operand.sizes ? cat(*operand.sizes) : "None";
  return text;
}

std::string stream_name(const plan::Plan& plan, int stream) {
  return cat(plan::kStreamKinds[static_cast<int>(plan.streams[stream].kind)], " ", stream);
}

}  // namespace

std::atomic<bool> Profiler::active_ = false;

Profiler& Profiler::get() {
  static Profiler* profiler = new Profiler;  // threads may use it until the process ends
  return *profiler;
}

void Profiler::start(ProfileOptions options) {
  std::lock_guard lock(mutex_);
  TW_CHECK(!active_, kRuntime, "profile: another profile is being recorded");
  options_ = std::make_shared<ProfileOptions>(std::move(options));
  profile_ = {};
  number_++;
  active_ = true;
  eager::observe_launches(this);
}

Profile Profiler::stop() {
  eager::observe_launches(nullptr);
  std::lock_guard lock(mutex_);
  TW_CHECK(active_, kRuntime, "profile: none is being recorded");
  active_ = false;
  profile_.threads = threads_;
  return std::move(profile_);
}

std::string Profiler::swap_module(std::string module) { return std::exchange(t_module, std::move(module)); }

int Profiler::add_label(ProfileLabel label) {
  profile_.labels.push_back(std::move(label));
  return static_cast<int>(profile_.labels.size()) - 1;
}

void Profiler::add_event(int label, int64_t begin_ns, int64_t end_ns) {
  if (t_thread < 0) {
    t_thread = static_cast<int>(threads_.size());
    threads_.push_back(name_of_thread());
  }
  profile_.events.push_back({label, t_thread, begin_ns, end_ns});
}

void Profiler::add_range(ProfileLabel label, int64_t begin_ns, int64_t end_ns) {
  std::lock_guard lock(mutex_);
  if (active_) add_event(add_label(std::move(label)), begin_ns, end_ns);
}

void Profiler::launched(const ir::OpDef& def, const device::KernelContext& context, int64_t begin_ns,
                        int64_t end_ns) {
  ProfileLabel label{.kind = "op", .name = def.name(), .module = t_module, .bytes = bytes_of(context)};
  std::shared_ptr<const ProfileOptions> options;
  {
    std::lock_guard lock(mutex_);
    options = options_;
  }
  if (options->shapes) label.shapes = shapes_of(context);
  if (options->origin) label.origin = options->origin();
  add_range(std::move(label), begin_ns, end_ns);
}

// A plan's labels are made when it is first seen in a profile.
void Profiler::add_labels(PlanObserver& observer) {
  if (observer.profile_ == number_) return;
  observer.profile_ = number_;
  observer.actors_.clear();
  observer.launches_.clear();
  const plan::Plan& plan = observer.plan_;
  for (const plan::Actor& actor : plan.actors) {
    std::string stream = stream_name(plan, actor.stream);
    std::string name = plan.actors.size() == 1 ? plan.name : cat(plan.name, ": ", actor.name);
    observer.actors_.push_back(
        add_label({.kind = "actor", .name = std::move(name), .program = plan.name, .stream = stream}));
    auto& labels = observer.launches_.emplace_back();
    for (const plan::Launch& launch : actor.launches)
      labels.push_back(add_label({.kind = "launch",
                                  .name = launch.op,
                                  .module = plan.strings[launch.module],
                                  .origin = plan.strings[launch.origin],
                                  .program = plan.name,
                                  .stream = stream,
                                  .bytes = bytes_of(plan, launch)}));
  }
}

void Profiler::add_firing(PlanObserver& plan, int actor, int64_t begin_ns, int64_t end_ns) {
  std::lock_guard lock(mutex_);
  if (!active_) return;
  add_labels(plan);
  add_event(plan.actors_[actor], begin_ns, end_ns);
}

void Profiler::add_launch(PlanObserver& plan, int actor, int launch, int64_t begin_ns, int64_t end_ns) {
  std::lock_guard lock(mutex_);
  if (!active_) return;
  add_labels(plan);
  add_event(plan.launches_[actor][launch], begin_ns, end_ns);
}

void PlanObserver::fired(int actor, int64_t, int64_t begin_ns, int64_t end_ns) {
  Profiler::get().add_firing(*this, actor, begin_ns, end_ns);
}

void PlanObserver::launched(int actor, int64_t, int launch, int64_t begin_ns, int64_t end_ns) {
  Profiler::get().add_launch(*this, actor, launch, begin_ns, end_ns);
}

}  // namespace tw::session

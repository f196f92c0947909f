#include "runtime/executable.h"

#include "base/error.h"
#include "device/accelerator.h"
#include "device/cpu/caching_allocator.h"
#include "plan/check.h"
#include "runtime/chain.h"
#include "runtime/engine.h"
#include "runtime/replay.h"
#include "runtime/sequence.h"

namespace tw::runtime {

namespace {

plan::Plan checked(plan::Plan plan) {
  plan::check_plan(plan);
  return plan;
}

Options checked(const Options& options) {
  TW_CHECK(options.steps_in_flight >= 1 && options.workers >= 0, kValue,
           "run: at least one step in flight is wanted and no negative number of workers, got ",
           options.steps_in_flight, " and ", options.workers);
  return options;
}

std::vector<device::Device> devices_of(const plan::Plan& plan) {
  std::vector<device::Device> devices;
  for (const std::string& name : plan.devices) devices.push_back(device::parse_device(name));
  return devices;
}

// The thread's current device, which launches on several change.
class SameDeviceAfter {
 public:
  explicit SameDeviceAfter(bool elsewhere)
      : device_(elsewhere ? device::accelerator().current_device() : -1) {}
  ~SameDeviceAfter() {
    if (device_ >= 0) device::accelerator().set_current_device(device_);
  }
  SameDeviceAfter(const SameDeviceAfter&) = delete;
  SameDeviceAfter& operator=(const SameDeviceAfter&) = delete;

 private:
  int device_;
};

}  // namespace

Executable::Executable(plan::Plan plan, KernelSource& source, Options options)
    : plan_(checked(std::move(plan))),
      options_(checked(options)),
      devices_(devices_of(plan_)),
      layout_(plan_),
      observer_(options.observer),
      finished_(options.steps_in_flight) {
  if (elsewhere())
    for (device::Device device : devices_)
      streams_.emplace_back(&device::accelerator().current_stream(device.index));
  allocate_arenas();
  try {
    for (size_t i = 0; i < plan_.actors.size(); i++)
      chains_.push_back(std::make_unique<Chain>(plan_, static_cast<int>(i), source, bases_));
    bool alone = plan_.actors.size() == 1 && plan_.actors[0].kind == plan::ActorKind::kChain &&
                 plan_.registers.empty();
    if (elsewhere()) record_chains();
    if (!alone && elsewhere())
      sequence_ = std::make_unique<Sequence>(plan_, chains_);
    else if (!alone)
      engine_ = std::make_unique<Engine>(
          plan_, chains_,
          EngineOptions{options.steps_in_flight, options.workers, options.caller_works, &observer_});
  } catch (...) {
    chains_.clear();
    free_arenas();
    throw;
  }
}

Executable::~Executable() {
  engine_.reset();
  sequence_.reset();
  chains_.clear();
  free_arenas();
}

void Executable::allocate_arenas() {
  device::AllocatingForLong for_long;
  bases_.assign(plan_.segments.size(), nullptr);
  for (size_t i = 0; i < plan_.segments.size(); i++) {
    const plan::Segment& segment = plan_.segments[i];
    if (segment.kind != plan::SegmentKind::kArena) continue;
    device::Device device = devices_[segment.device];
    auto size_bytes = static_cast<size_t>(segment.size_bytes);
    void* data = device::backend_of(device).allocate(size_bytes, device.index);
    arenas_.push_back({data, size_bytes, device});
    bases_[i] = static_cast<char*>(data);
  }
}

void Executable::free_arenas() {
  for (const Arena& arena : arenas_)
    device::backend_of(arena.device).free(arena.data, arena.size_bytes, arena.device.index);
  arenas_.clear();
}

int64_t Executable::arena_bytes() const {
  int64_t total = 0;
  for (const Arena& arena : arenas_) total += static_cast<int64_t>(arena.size_bytes);
  return total;
}

size_t Executable::recorded_launches() const {
  size_t count = 0;
  for (const auto& chain : chains_)
    if (const Replay* replay = chain->replay()) count += replay->recorded();
  return count;
}

int Executable::thread_count() const { return engine_ ? engine_->thread_count() : 0; }

void Executable::record_chains() {
  device::Recorders* recorders = device::find_recorders(devices_[0]);
  if (!recorders) return;
  for (device::Device device : devices_)
    recordings_.push_back(std::make_unique<RecordingSource>(*recorders, device));
  for (size_t i = 0; i < chains_.size(); i++)
    if (plan_.actors[i].kind == plan::ActorKind::kChain && chains_[i]->device() >= 0)
      chains_[i]->record_on(*recordings_[chains_[i]->device()]);
}

// An arena is one for all runs: on another stream than the last, a run waits for what is queued there.
void Executable::follow_streams() {
  device::Accelerator& backend = device::accelerator();
  for (size_t i = 0; i < streams_.size(); i++) {
    const device::Device device = devices_[i];
    device::Stream& now = backend.current_stream(device.index);
    if (streams_[i].get() == &now) continue;
    Ref<device::Event> ready = backend.make_event(device.index);
    ready->record(*streams_[i]);
    backend.wait(now, *ready);
    for (const Arena& arena : arenas_)
      if (arena.device == device) backend.record_use(arena.data, now);
    streams_[i] = Ref<device::Stream>(&now);
  }
}

void Executable::run_here(const Bindings& bindings) {
  if (elsewhere()) follow_streams();
  layout_.fill(bindings, &step_);
  Observer* observer = observer_.load(std::memory_order_relaxed);
  const SameDeviceAfter same(elsewhere());
  if (sequence_) return sequence_->run(step_, observer);
  Chain& chain = *chains_[0];
  chain.bind(step_);
  try {
    for (int i = 0; i < plan_.actors[0].rate; i++) {
      if (observer)
        chain.fire_observed(i, *observer);
      else
        chain.fire(i);
    }
  } catch (...) {
    if (chain.meets()) chain.give_up(reason_of(std::current_exception()));
    throw;
  }
}

int64_t Executable::start_here(const Bindings& bindings) {
  std::lock_guard lock(finished_.mutex);
  Step& step = finished_.at(next_step_);
  StepRing::throw_news(step);
  step.failure = nullptr;
  step.touched = false;
  try {
    run_here(bindings);
  } catch (...) {
    step.failure = std::make_shared<Failure>(std::current_exception());
    step.touched = sequence_ ? sequence_->failed_in_commit() : chains_[0]->failed_in_commit();
  }
  return step.number = next_step_++;
}

int64_t Executable::run(const Bindings& bindings) {
  if (engine_) {
    wait(engine_->start(bindings, layout_));
    return 0;
  }
  std::lock_guard lock(finished_.mutex);
  run_here(bindings);
  return chains_[0]->extra_draws();
}

Run Executable::start(const Bindings& bindings) {
  return Run(this, engine_ ? engine_->start(bindings, layout_) : start_here(bindings));
}

StepRing& Executable::steps() { return engine_ ? engine_->steps : finished_; }

void Executable::wait(int64_t step) {
  if (engine_)
    engine_->wait(step);
  else
    finished_.wait(step, 0);
}

void Run::wait() { executable_->wait(step_); }
bool Run::done() const { return executable_->steps().done(step_); }
bool Run::touched_variables() const { return executable_->steps().touched(step_); }

}  // namespace tw::runtime

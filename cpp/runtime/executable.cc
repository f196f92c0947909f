#include "runtime/executable.h"

#include "base/error.h"
#include "device/accelerator.h"
#include "device/cpu/caching_allocator.h"
#include "plan/check.h"
#include "runtime/chain.h"
#include "runtime/engine.h"
#include "runtime/replay.h"

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

}  // namespace

Executable::Executable(plan::Plan plan, KernelSource& source, Options options)
    : plan_(checked(std::move(plan))),
      options_(checked(options)),
      device_(device::parse_device(plan_.devices[0])),
      layout_(plan_),
      observer_(options.observer),
      finished_(options.steps_in_flight) {
  if (elsewhere()) stream_ = Ref<device::Stream>(&device::accelerator().current_stream(device_.index));
  allocate_arenas();
  try {
    for (size_t i = 0; i < plan_.actors.size(); i++)
      chains_.push_back(std::make_unique<Chain>(plan_, static_cast<int>(i), source, bases_));
    bool alone = plan_.actors.size() == 1 && plan_.actors[0].kind == plan::ActorKind::kChain &&
                 plan_.registers.empty();
    TW_CHECK(alone || !elsewhere(), kNotImplemented,
             "run: plans of several actors run on the CPU, got one on ", device_);
    device::Recorders* recorders = device::find_recorders(device_);
    if (elsewhere() && recorders) chains_[0]->record_on(*recorders, device_);
    if (!alone)
      engine_ = std::make_unique<Engine>(plan_, chains_,
                                         EngineOptions{options.steps_in_flight, options.workers, &observer_});
  } catch (...) {
    chains_.clear();
    free_arenas();
    throw;
  }
}

Executable::~Executable() {
  engine_.reset();
  chains_.clear();
  free_arenas();
}

void Executable::allocate_arenas() {
  device::AllocatingForLong for_long;
  bases_.assign(plan_.segments.size(), nullptr);
  for (size_t i = 0; i < plan_.segments.size(); i++) {
    const plan::Segment& segment = plan_.segments[i];
    if (segment.kind != plan::SegmentKind::kArena) continue;
    device::Device device = device::parse_device(plan_.devices[segment.device]);
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
  const Replay* replay = chains_[0]->replay();
  return replay ? replay->recorded() : 0;
}

int Executable::thread_count() const { return engine_ ? engine_->thread_count() : 0; }

// The arena is one for all runs: on another stream than the last, a run waits for what is queued there.
void Executable::follow_stream() {
  device::Accelerator& backend = device::accelerator();
  device::Stream& now = backend.current_stream(device_.index);
  if (stream_.get() == &now) return;
  Ref<device::Event> ready = backend.make_event(device_.index);
  ready->record(*stream_);
  backend.wait(now, *ready);
  for (const Arena& arena : arenas_) backend.record_use(arena.data, now);
  stream_ = Ref<device::Stream>(&now);
}

void Executable::run_here(const Bindings& bindings) {
  if (elsewhere()) follow_stream();
  layout_.fill(bindings, &step_);
  Chain& chain = *chains_[0];
  chain.bind(step_);
  Observer* observer = observer_.load(std::memory_order_relaxed);
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
    step.touched = chains_[0]->failed_in_commit();
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

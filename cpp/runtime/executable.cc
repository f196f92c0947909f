#include "runtime/executable.h"

#include "base/error.h"
#include "device/backend.h"
#include "plan/check.h"
#include "runtime/chain.h"

namespace tw::runtime {

namespace {

plan::Plan checked(plan::Plan plan) {
  plan::check_plan(plan);
  return plan;
}

}  // namespace

Executable::Executable(plan::Plan plan, KernelSource& source, Options options)
    : plan_(checked(std::move(plan))), options_(options), layout_(plan_), finished_(options.steps_in_flight) {
  TW_CHECK(plan_.actors.size() == 1, kNotImplemented, "run: plans of several actors have no workers yet");
  allocate_arenas();
  try {
    for (size_t i = 0; i < plan_.actors.size(); i++)
      chains_.push_back(std::make_unique<Chain>(plan_, static_cast<int>(i), source, bases_));
  } catch (...) {
    free_arenas();
    throw;
  }
}

Executable::~Executable() {
  chains_.clear();
  free_arenas();
}

void Executable::allocate_arenas() {
  bases_.assign(plan_.segments.size(), nullptr);
  for (size_t i = 0; i < plan_.segments.size(); i++) {
    const plan::Segment& segment = plan_.segments[i];
    if (segment.kind != plan::SegmentKind::kArena) continue;
    device::Device device = device::parse_device(plan_.devices[segment.device]);
    TW_CHECK(device.type == device::DeviceType::kCpu, kNotImplemented, "plan: no backend runs plans on ",
             device);
    auto size_bytes = static_cast<size_t>(segment.size_bytes);
    void* data = device::cpu_backend().allocate(size_bytes, device.index);
    arenas_.push_back({data, size_bytes, device.index});
    bases_[i] = static_cast<char*>(data);
  }
}

void Executable::free_arenas() {
  for (const Arena& arena : arenas_) device::cpu_backend().free(arena.data, arena.size_bytes, arena.device);
  arenas_.clear();
}

int64_t Executable::arena_bytes() const {
  int64_t total = 0;
  for (const Arena& arena : arenas_) total += static_cast<int64_t>(arena.size_bytes);
  return total;
}

int Executable::thread_count() const { return 0; }

void Executable::run_here(const Bindings& bindings) {
  layout_.fill(bindings, &step_);
  Chain& chain = *chains_[0];
  chain.bind(step_);
  for (int i = 0; i < plan_.actors[0].rate; i++) chain.fire(i);
}

void Executable::run(const Bindings& bindings) {
  std::lock_guard lock(mutex_);
  run_here(bindings);
}

Run Executable::start(const Bindings& bindings) { return start_here(bindings); }

Run Executable::start_here(const Bindings& bindings) {
  std::lock_guard lock(mutex_);
  Finished& place = finished_[steps_ % finished_.size()];
  if (place.error && !place.seen) {
    place.seen = true;
    std::rethrow_exception(place.error);
  }
  place = {};
  try {
    run_here(bindings);
  } catch (...) {
    place = {std::current_exception(), chains_[0]->failed_in_commit(), false};
  }
  return Run(this, steps_++);
}

bool Run::done() const { return true; }

void Run::wait() {
  std::lock_guard lock(executable_->mutex_);
  auto& finished = executable_->finished_;
  if (executable_->steps_ - step_ > static_cast<int64_t>(finished.size()))
    return;  // reported by a later start
  auto& place = finished[step_ % finished.size()];
  place.seen = true;
  if (place.error) std::rethrow_exception(place.error);
}

bool Run::touched_variables() const {
  std::lock_guard lock(executable_->mutex_);
  return executable_->finished_[step_ % executable_->finished_.size()].touched;
}

}  // namespace tw::runtime

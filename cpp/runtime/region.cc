#include "runtime/region.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "device/accelerator.h"
#include "runtime/chain.h"
#include "runtime/interleaver.h"
#include "runtime/sequence.h"

namespace tw::runtime {

using plan::SegmentKind;

namespace {

size_t bytes_of(const device::Operand& operand) {
  return static_cast<size_t>(operand.count() * size_of(operand.dtype));
}

}  // namespace

// Of a device on which the region's kernels run. On an accelerator, to read what decides is to wait for the
// stream.
class RegionLaunch::Memory {
 public:
  explicit Memory(const std::string& device) : device_(device::parse_device(device)) {
    if (device_.type != device::DeviceType::kCpu) backend_ = &device::accelerator();
  }
  ~Memory() {
    if (backend_ && flag_) backend_->free(flag_, sizeof(bool), device_.index);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  template <class T>
  T read(const void* from) {
    T value;
    copy(&value, from, sizeof(T));
    if (backend_) stream().synchronize();
    return value;
  }
  void copy(void* to, const void* from, size_t size_bytes) {
    if (backend_)
      backend_->copy(to, from, size_bytes, stream());
    else
      std::memcpy(to, from, size_bytes);
  }
  // Where a body writes whether its loop goes on.
  void* flag() {
    if (!backend_) return &here_;
    if (!flag_) flag_ = backend_->allocate(sizeof(bool), device_.index);
    backend_->record_use(flag_, stream());
    return flag_;
  }

 private:
  device::Stream& stream() { return backend_->current_stream(device_.index); }
  device::Device device_;
  device::Accelerator* backend_ = nullptr;  // null: the CPU
  bool here_ = false;
  void* flag_ = nullptr;  // of an accelerator
};

struct RegionLaunch::Body {
  Body(const plan::Plan& p, KernelSource& source) : plan(p) {
    const std::vector<char*> unbound(p.segments.size(), nullptr);
    for (int actor = 0; actor < static_cast<int>(p.actors.size()); actor++)
      chains.push_back(std::make_unique<Chain>(p, actor, source, unbound));
    const bool on_cpu = device::parse_device(p.devices[0]).type == device::DeviceType::kCpu;
    if (chains.size() > 1 && on_cpu)
      interleaver = std::make_unique<Interleaver>(p, chains);
    else if (chains.size() > 1)
      sequence = std::make_unique<Sequence>(p, chains);
    step.bases.resize(p.segments.size());
    for (size_t i = 0; i < p.segments.size(); i++) {
      auto& list = segments[static_cast<int>(p.segments[i].kind)];
      list.resize(std::max(list.size(), static_cast<size_t>(p.segments[i].index) + 1));
      list[p.segments[i].index] = static_cast<int>(i);
    }
  }
  const std::vector<int>& of(SegmentKind kind) const { return segments[static_cast<int>(kind)]; }
  void point(SegmentKind kind, size_t index, void* data) {
    step.bases[of(kind)[index]] = static_cast<char*>(data);
  }
  int64_t bytes(SegmentKind kind, size_t index) const { return plan.segments[of(kind)[index]].size_bytes; }
  // Returns how many draws it took.
  int64_t fire() {
    if (interleaver) {
      interleaver->run(step);
      return plan.draws;
    }
    if (sequence) {
      sequence->run(step, nullptr);
      return plan.draws;
    }
    chains[0]->bind(step);
    chains[0]->fire(0);
    return plan.draws + chains[0]->extra_draws();
  }

  const plan::Plan& plan;
  std::vector<std::unique_ptr<Chain>> chains;
  // One of them where there are several actors: of a CPU, of accelerators.
  std::unique_ptr<Interleaver> interleaver;
  std::unique_ptr<Sequence> sequence;
  StepBindings step;
  std::vector<int> segments[5];  // by kind and index
};

RegionLaunch::RegionLaunch(const plan::Plan& plan, const plan::Launch& launch, KernelSource& source,
                           Chain& owner)
    : region_(plan.regions[launch.region]),
      owner_(owner),
      draw_(launch.draw),
      draws_(plan::draws_of(plan, launch)) {
  for (size_t i = 0; i < region_.bodies.size(); i++) {
    auto kernels = source.body(launch, static_cast<int>(i));
    bodies_.push_back(std::make_unique<Body>(region_.bodies[i], *kernels));
  }
  for (int value : launch.inputs) {
    const int device = value < 0 ? 0 : plan.segments[plan.values[value].segment].device;
    inputs_.push_back(std::make_unique<Memory>(plan.devices[device]));
  }
  const Body& first = *bodies_[0];
  const auto& outputs = first.of(SegmentKind::kOutput);
  const int deciding = outputs.empty() ? 0 : first.plan.segments[outputs[0]].device;
  deciding_ = std::make_unique<Memory>(first.plan.devices[deciding]);
  recordable = false;
  kernel = [](device::KernelContext& context) {
    static_cast<RegionLaunch*>(const_cast<void*>(context.attributes))->run(context);
  };
  attributes = this;
}

RegionLaunch::~RegionLaunch() = default;

void RegionLaunch::write_number(const plan::Lifted&, const Scalar&) {
  TW_FAIL(kInternal, "run: control flow has no numbers");
}

void RegionLaunch::cancel() {
  cancelled_.store(true, std::memory_order_relaxed);
  for (auto& body : bodies_)
    for (auto& chain : body->chains) chain->cancel();
}

void RegionLaunch::resume() {
  cancelled_.store(false, std::memory_order_relaxed);
  for (auto& body : bodies_)
    for (auto& chain : body->chains) chain->resume();
}

void RegionLaunch::give_up(const std::string& reason) {
  for (auto& body : bodies_)
    for (auto& chain : body->chains) chain->give_up(reason);
}

void RegionLaunch::begin_step(const StepBindings& step) {
  for (auto& body : bodies_) {
    body->step.numbers = step.numbers;
    body->step.seed = step.seed;
    body->step.part = step.part;
    body->step.keys.clear();  // of a body that draws, it follows on the launch's
    if (draw_ >= 0 && !step.keys.empty())
      body->step.keys.assign(step.keys.begin() + draw_, step.keys.begin() + draw_ + draws_);
  }
  outer_part_ = std::max<int64_t>(step.part, 0);
}

// Runs a body that starts at the region's draw number `drawn`; returns how many it took.
int64_t RegionLaunch::fire(Body& body, int64_t drawn) {
  body.step.first_draw = first_draw + static_cast<uint64_t>(drawn);
  return body.fire();
}

void RegionLaunch::run(device::KernelContext& context) {
  int64_t drawn = region_.kind == plan::RegionKind::kCond ? run_cond(context) : run_loop(context);
  if (draw_ >= 0) owner_.move_draws(draw_, drawn - draws_);
}

// The last outputs.
void RegionLaunch::point_arenas(Body& body, const device::KernelContext& context) const {
  const size_t count = body.of(SegmentKind::kArena).size();
  for (size_t i = 0; i < count; i++)
    body.point(SegmentKind::kArena, i, context.outputs[context.outputs.size() - count + i].data);
}

int64_t RegionLaunch::run_cond(device::KernelContext& context) {
  Body& body = *bodies_[inputs_[0]->read<bool>(context.in(0).data) ? 0 : 1];
  point_arenas(body, context);
  for (size_t i = 0; i < body.of(SegmentKind::kInput).size(); i++)
    body.point(SegmentKind::kInput, i, context.inputs[i + 1].data);
  for (size_t i = 0; i < body.of(SegmentKind::kOutput).size(); i++)
    body.point(SegmentKind::kOutput, i, context.outputs[i].data);
  return fire(body, 0);
}

int64_t RegionLaunch::run_loop(device::KernelContext& context) {
  Body& body = *bodies_[0];
  const size_t carried = region_.carried, slices = region_.slices;
  const auto operands = context.inputs.subspan(2 + carried);
  const bool with_pred = context.in(0).present();
  const size_t results = body.of(SegmentKind::kOutput).size();
  point_arenas(body, context);
  for (size_t i = 0; i < carried; i++) {
    const device::Operand &from = context.inputs[2 + i], &to = context.outputs[i];
    if (from.data != to.data && bytes_of(to) > 0) inputs_[2 + i]->copy(to.data, from.data, bytes_of(to));
    body.point(SegmentKind::kVariable, i, to.data);
  }
  for (size_t i = slices; i < operands.size(); i++) body.point(SegmentKind::kInput, i, operands[i].data);
  bool go_on = !with_pred || inputs_[0]->read<bool>(context.in(0).data);
  if (with_pred) body.point(SegmentKind::kOutput, 0, deciding_->flag());

  const bool bounded = context.in(1).present();
  int64_t trips = region_.length < 0 ? std::numeric_limits<int64_t>::max() : region_.length;
  if (bounded) trips = std::min(trips, inputs_[1]->read<int64_t>(context.in(1).data));
  int64_t drawn = 0;
  for (int64_t i = 0; i < trips && go_on; i++) {
    TW_CHECK(!cancelled_.load(std::memory_order_relaxed), kRuntime, context.op, ": the step was stopped");
    const int64_t part = region_.reverse ? trips - 1 - i : i;
    for (size_t k = 0; k < slices; k++)
      body.point(SegmentKind::kInput, k, operands[k].as<char>() + part * body.bytes(SegmentKind::kInput, k));
    for (size_t k = with_pred; k < results; k++)
      body.point(
          SegmentKind::kOutput, k,
          context.outputs[carried + k - with_pred].as<char>() + part * body.bytes(SegmentKind::kOutput, k));
    if (region_.parts) {
      body.step.part = outer_part_ * region_.length + i;
      drawn = fire(body, 0);
    } else {
      drawn += fire(body, drawn);
    }
    if (with_pred) go_on = deciding_->read<bool>(deciding_->flag());
  }
  return drawn;
}

}  // namespace tw::runtime

#include "runtime/chain.h"

#include "base/error.h"
#include "device/accelerator.h"
#include "runtime/region.h"
#include "runtime/replay.h"

namespace tw::runtime {

namespace {

// Sizes that depend on data have no place in a plan.
const auto refuse_allocation = [](int, const Dims&) {
  TW_FAIL(kNotImplemented, "run: an op whose output sizes depend on data cannot run in a plan");
};

std::string where(const plan::Plan& plan, const plan::Launch& launch) {
  const std::string &module = plan.strings[launch.module], &origin = plan.strings[launch.origin];
  if (module.empty() && origin.empty()) return "";
  if (module.empty()) return cat(" (at ", origin, ")");
  if (origin.empty()) return cat(" (in ", module, ")");
  return cat(" (in ", module, ", at ", origin, ")");
}

}  // namespace

std::unique_ptr<KernelSource> KernelSource::body(const plan::Launch& launch, int) {
  TW_FAIL(kNotImplemented, "run: there are no kernels for the regions of ", launch.op);
}

Ref<comm::Request> LaunchKernel::post(const device::KernelContext& context) {
  TW_FAIL(kInternal, context.op, ": it is no communication");
}

Chain::~Chain() = default;

Chain::Chain(const plan::Plan& plan, int actor, KernelSource& source, const std::vector<char*>& arenas)
    : plan_(plan), number_(actor), actor_(plan.actors[actor]), bases_(arenas) {
  size_t operands = 0;
  for (const plan::Launch& launch : actor_.launches) operands += launch.inputs.size() + launch.outputs.size();
  operands_.reserve(operands);  // contexts keep pointers into it
  entries_.reserve(actor_.launches.size());
  switches_ =
      plan.devices.size() > 1 && device::parse_device(plan.devices[0]).type != device::DeviceType::kCpu;
  device_ = actor_.launches.empty() ? plan.streams[actor_.stream].device : device_of(actor_.launches[0]);
  for (const plan::Launch& launch : actor_.launches) add_launch(launch, source);
  at_ = entries_.data();

  std::vector<std::vector<Patch>> by_segment(plan.segments.size());
  size_t next = 0;
  for (int i = 0; i < static_cast<int>(actor_.launches.size()); i++)
    for (const auto* values : {&actor_.launches[i].inputs, &actor_.launches[i].outputs})
      for (int value : *values) place(&operands_[next++].data, value, i, arenas, by_segment);
  for (size_t segment = 0; segment < by_segment.size(); segment++) {
    if (by_segment[segment].empty()) continue;
    int begin = static_cast<int>(patches_.size());
    patches_.insert(patches_.end(), by_segment[segment].begin(), by_segment[segment].end());
    groups_.push_back({static_cast<int>(segment), begin, static_cast<int>(patches_.size()), nullptr});
  }
}

// Where its results lie, or what it writes.
int Chain::device_of(const plan::Launch& launch) const {
  for (const auto* values : {&launch.outputs, &launch.inputs})
    for (int value : *values) {
      if (value < 0) continue;
      const plan::Value& v = plan_.values[value];
      const int segment = v.reg >= 0 ? plan_.registers[v.reg].segment : v.segment;
      if (segment >= 0) return plan_.segments[segment].device;
    }
  return plan_.streams[actor_.stream].device;
}

void Chain::add_launch(const plan::Launch& launch, KernelSource& source) {
  if (launch.region >= 0) {
    auto region = std::make_unique<RegionLaunch>(plan_, launch, source, *this);
    regions_.push_back({region.get(), launch.draw});
    kernels_.push_back(std::move(region));
  } else {
    kernels_.push_back(source.bind(launch));
  }
  LaunchKernel& bound = *kernels_.back();
  device::Operand* first = operands_.data() + operands_.size();
  for (int value : launch.inputs) operands_.push_back(operand(value));
  device::Operand* outputs = operands_.data() + operands_.size();
  for (int value : launch.outputs) operands_.push_back(operand(value));
  device::KernelContext context{std::span<const device::Operand>(first, launch.inputs.size()),
                                std::span(outputs, launch.outputs.size()),
                                bound.attributes,
                                launch.starts,
                                launch.op.c_str(),
                                FunctionRef<void(int, const Dims&)>(refuse_allocation)};
  unsigned phases = launch.when == plan::When::kFirst  ? kFirst
                    : launch.when == plan::When::kLast ? kLast
                                                       : kFirst | kMiddle | kLast;
  const int device = device_of(launch);
  if (device != device_) device_ = -1;
  entries_.push_back(
      {bound.kernel, phases, switches_ ? device::parse_device(plan_.devices[device]).index : -1, context});
  if (bound.random_key_offset >= 0 && launch.draw >= 0) {
    auto* key = reinterpret_cast<PhiloxKey*>(static_cast<char*>(bound.attributes) + bound.random_key_offset);
    keys_.push_back({key, launch.draw, &bound, static_cast<int>(entries_.size()) - 1});
  }
  for (const plan::Lifted& lifted : launch.lifted)
    numbers_.push_back({&bound, lifted, Scalar(), false, static_cast<int>(entries_.size()) - 1});
}

device::Operand Chain::operand(int value) {
  if (value < 0) return {};
  const plan::Value& v = plan_.values[value];
  return {nullptr, &v.sizes, &v.strides, v.dtype};
}

// Decides how often an operand's address has to be written: now, in every run, or in every firing.
void Chain::place(void** data, int value, int launch, const std::vector<char*>& arenas,
                  std::vector<std::vector<Patch>>& by_segment) {
  if (value < 0) return;
  const plan::Value& v = plan_.values[value];
  if (v.reg >= 0) {
    const plan::Register& reg = plan_.registers[v.reg];
    if (reg.segment >= 0 && (reg.slots > 1 || v.advance_bytes != 0)) {
      moving_.push_back({data, &v, &reg, reg.segment});
    } else {
      char* base = reg.segment >= 0 ? arenas[reg.segment] + reg.offset_bytes : nullptr;
      *data = base ? base + v.offset_bytes : nullptr;
    }
  } else if (v.advance_bytes != 0) {
    moving_.push_back({data, &v, nullptr, v.segment});
  } else if (arenas[v.segment]) {
    *data = arenas[v.segment] + v.offset_bytes;
  } else {
    by_segment[v.segment].push_back({data, v.offset_bytes, launch});
  }
}

void Chain::bind(const StepBindings& step) {
  for (Group& group : groups_) {
    char* base = step.bases[group.segment];
    if (base == group.base) continue;
    group.base = base;
    for (int i = group.begin; i < group.end; i++) *patches_[i].data = base + patches_[i].offset_bytes;
    for (int i = group.begin; replay_ && i < group.end; i++) replay_->change(patches_[i].launch);
  }
  for (const Moving& moving : moving_)
    if (!moving.reg) bases_[moving.segment] = step.bases[moving.segment];
  for (Number& number : numbers_) {
    const Scalar& value = step.numbers[number.where.number];
    if (number.is_written && number.written == value) continue;
    number.launch->write_number(number.where, value);
    number.written = value;
    number.is_written = true;
    if (replay_) replay_->change(number.number_of_launch);
  }
  seed_ = step.seed;
  first_draw_ = step.first_draw;
  drawn_keys_ = step.keys;
  if (step.part != part_) {
    part_ = step.part;
    for (const Key& key : keys_) key.launch->set_part(part_);
  }
  for (const RegionAt& region : regions_) region.launch->begin_step(step);
}

void Chain::move_draws(int64_t draw, int64_t extra) {
  extra_draws_ += extra;
  auto moved = static_cast<uint64_t>(extra);  // wraps around where it is negative
  for (const Key& key : keys_)
    if (key.draw > draw) key.key->draw += moved;
  for (const RegionAt& region : regions_)
    if (region.draw > draw) region.launch->first_draw += moved;
}

void Chain::move(int64_t firing) {
  for (const Moving& moving : moving_) {
    int64_t offset = moving.value->offset_bytes;
    if (moving.reg) {
      const plan::Register& reg = *moving.reg;
      int sharing = actor_.rate / reg.rate;
      offset += reg.offset_bytes + firing / sharing % reg.slots * reg.slot_bytes +
                firing % sharing * moving.value->advance_bytes;
    } else {
      offset += firing % actor_.rate * moving.value->advance_bytes;
    }
    *moving.data = bases_[moving.segment] + offset;
  }
}

PhiloxKey Chain::key_of(int64_t draw) const {
  return drawn_keys_.empty() ? PhiloxKey{seed_, first_draw_ + static_cast<uint64_t>(draw)}
                             : drawn_keys_[draw];
}

// Everything that a firing needs but its launches; returns the mask of those that run.
unsigned Chain::prepare(int64_t firing) {
  int phase = static_cast<int>(firing % actor_.rate);
  if (!moving_.empty()) move(firing);
  for (const Key& key : keys_) {
    *key.key = key_of(key.draw + phase * actor_.draws);
    if (replay_) replay_->change(key.number);
  }
  for (const RegionAt& region : regions_) region.launch->first_draw = first_draw_ + region.draw;
  extra_draws_ = 0;
  unsigned mask = 0;
  if (phase == 0) mask |= kFirst;
  if (phase == actor_.rate - 1) mask |= kLast;
  return mask ? mask : kMiddle;
}

void Chain::rethrow(const Error& error) const {
  if (actor_.launches[position()].region >= 0) throw error;  // it says where inside
  throw Error(error.kind(), error.what() + where(plan_, actor_.launches[position()]));
}

void Chain::record_on(RecordingSource& source) {
  if (actor_.rate != 1 || !moving_.empty()) return;
  replay_ = std::make_unique<Replay>(source, entries_.size());
  for (size_t i = 0; i < entries_.size(); i++)
    if (!kernels_[i]->recordable) replay_->leave_out(i);
}

void Chain::make(Entry& entry) {
  if (switches_) [[unlikely]]
    device::accelerator().set_current_device(entry.device);
  entry.kernel(entry.context);
}

void Chain::fire(int64_t firing) {
  unsigned mask = prepare(firing);
  Entry* const end = entries_.data() + entries_.size();
  try {
    if (replay_) {
      replay_->fire([&](size_t i) { make(entries_[i]); });
      at_ = end;
      return;
    }
    for (at_ = entries_.data(); at_ != end; at_++)
      if (at_->phases & mask) make(*at_);
  } catch (const Error& error) {
    if (replay_) at_ = entries_.data() + replay_->position();
    rethrow(error);
  }
}

void Chain::fire_observed(int64_t firing, Observer& observer) {
  int64_t fired_ns = now_ns();
  unsigned mask = prepare(firing);
  Entry* const end = entries_.data() + entries_.size();
  try {
    for (at_ = entries_.data(); at_ != end; at_++) {
      if (!(at_->phases & mask)) continue;
      int64_t begin_ns = now_ns();
      make(*at_);
      observer.launched(number_, firing, static_cast<int>(position()), begin_ns, now_ns());
    }
    observer.fired(number_, firing, fired_ns, now_ns());
  } catch (const Error& error) {
    rethrow(error);
  }
}

Ref<comm::Request> Chain::post(int64_t firing) {
  prepare(firing);
  at_ = entries_.data();
  try {
    return kernels_[0]->post(at_->context);
  } catch (const Error& error) {
    rethrow(error);
  }
}

bool Chain::complete(comm::Request& request) const {
  try {
    return request.test();
  } catch (const Error& error) {
    rethrow(error);
  }
}

void Chain::follow(comm::Request& request) const {
  try {
    request.wait();
  } catch (const Error& error) {
    rethrow(error);
  }
}

void Chain::give_up(const std::string& reason) {
  for (const auto& kernel : kernels_) kernel->give_up(reason);
}

bool Chain::meets() const {
  return std::ranges::any_of(actor_.launches, [this](const plan::Launch& launch) {
    return launch.op == "boxing_part" || (launch.region >= 0 && plan_.regions[launch.region].meets);
  });
}

bool Chain::failed_in_commit() const {
  return actor_.commit >= 0 && position() < entries_.size() &&
         position() >= static_cast<size_t>(actor_.commit);
}

void Chain::cancel() {
  for (const auto& kernel : kernels_) kernel->cancel();
}

void Chain::resume() {
  for (const auto& kernel : kernels_) kernel->resume();
}

void Chain::rewind(int64_t firings) {
  for (const auto& kernel : kernels_) kernel->rewind(firings);
}

}  // namespace tw::runtime

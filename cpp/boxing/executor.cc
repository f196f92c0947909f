#include "boxing/executor.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/error.h"
#include "boxing/device_memory.h"
#include "boxing/device_ops.h"
#include "boxing/local_ops.h"
#include "comm/world.h"
#include "device/cpu/scratch.h"

namespace tw::boxing {

namespace {

class Done final : public comm::Request {
 public:
  bool test() override { return true; }
  void wait(int64_t) override {}
};

// What messages in flight still need, when whoever posted them has let go of the request.
class Buffers final : public RefCounted {
 public:
  std::vector<device::Scratch> scratch;
  std::vector<DeviceMemory> on_devices;
  SmallVector<Ref<RefCounted>, 4> keep;
};

bool on_cpu(const Program& program) { return program.type == device::DeviceType::kCpu; }

// Scratch memory of a program, which `add` gets one after the other.
template <class Add>
void make_scratch(const Program& program, const Add& add) {
  size_t slot = static_cast<size_t>(program.inputs + program.outputs);
  for (int64_t count : program.scratch) add(slot++, static_cast<size_t>(count * size_of(program.dtype)));
}

DeviceMemory memory_of(const Program& program, size_t slot, size_t size_bytes) {
  return {device::Device{program.type, program.devices[slot]}, size_bytes};
}

void run_op(const Program& program, const LocalOp& op, void* const* slots) {
  if (on_cpu(program)) [[likely]]
    run_local(op, program.dtype, slots);
  else
    run_on_devices(op, program.dtype, slots, program.devices.data());
}

// Boxings of one group are counted alike in all its processes, so that messages of two in flight do not mix.
// Tags of others are below.
int64_t next_tag(comm::Group& group) { return (int64_t{1} << 40) + 2 * group.next_number(); }

class Running final : public comm::Request {
 public:
  Running(const Program& program, const Call& call)
      : program_(&program), buffers_(make_ref<Buffers>()), origin_(call.origin) {
    for (const void* input : call.inputs) slots_.push_back(const_cast<void*>(input));
    slots_.append(call.outputs.begin(), call.outputs.end());
    make_scratch(program, [&](size_t slot, size_t size_bytes) {
      slots_.push_back(on_cpu(program)
                           ? buffers_->scratch.emplace_back(size_bytes).get()
                           : buffers_->on_devices.emplace_back(memory_of(program, slot, size_bytes)).get());
    });
    buffers_->keep = call.keep;
    if (program.group) tag_ = next_tag(*program.group);
    start();
  }

  bool test() override {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return false;  // another thread waits
    while (phase_ < program_->phases.size()) {
      for (; arrived_ < posted_.size(); arrived_++)
        if (!posted_[arrived_]->test()) return false;
      next();
    }
    return true;
  }
  void wait(int64_t timeout_ms) override {
    std::lock_guard lock(mutex_);
    while (phase_ < program_->phases.size()) {
      for (; arrived_ < posted_.size(); arrived_++) posted_[arrived_]->wait(timeout_ms);
      next();
    }
  }

  void post_all() override {
    std::lock_guard lock(mutex_);
    while (posts_later()) {
      for (; arrived_ < posted_.size(); arrived_++) posted_[arrived_]->wait(comm::kGroupTimeout);
      next();
    }
  }

 private:
  bool posts_later() const {
    for (size_t i = phase_ + 1; i < program_->phases.size(); i++)
      if (program_->phases[i].exchanges || !program_->phases[i].calls.empty()) return true;
    return false;
  }
  void next() {
    phase_++;
    start();
  }
  // Phases without messages follow at once; the last has none.
  void start() {
    for (; phase_ < program_->phases.size(); phase_++) {
      const ProgramPhase& phase = program_->phases[phase_];
      posted_.clear();
      arrived_ = 0;
      for (const LocalOp& op : phase.ops) run_op(*program_, op, slots_.data());
      if (on_cpu(*program_))
        for (const PostedMessage& message : phase.messages) post_message(message);
      else if (phase.exchanges)
        post_exchange(phase);
      for (const PostedCall& call : phase.calls) post_call(call);
      if (!posted_.empty()) return;
    }
    buffers_ = nullptr;
  }
  char* data_of(const PostedMessage& m) const {
    return static_cast<char*>(slots_[m.slot]) + m.offset * size_of(program_->dtype);
  }
  // At most one message goes from a rank to another in a phase.
  void post_exchange(const ProgramPhase& phase) {
    comm::Group& group = *program_->group;
    const auto size = static_cast<size_t>(group.size());
    struct Ends {
      std::vector<int64_t> send_counts, receive_counts;
      std::vector<const void*> from;
      std::vector<void*> to;
    };
    std::vector<Ends> ends(group.members().size());
    for (Ends& own : ends) {
      own.send_counts.resize(size);
      own.receive_counts.resize(size);
      own.from.resize(size);
      own.to.resize(size);
    }
    for (const PostedMessage& m : phase.messages) {
      Ends& own = ends[std::ranges::find(group.members(), m.sends ? m.from : m.to) - group.members().begin()];
      (m.sends ? own.send_counts[m.to] : own.receive_counts[m.from]) = m.count;
      if (m.sends)
        own.from[m.to] = data_of(m);
      else
        own.to[m.from] = data_of(m);
    }
    std::vector<comm::Part> parts;
    for (const Ends& own : ends)
      parts.push_back({nullptr, nullptr, own.send_counts, own.receive_counts, own.from, own.to});
    comm::Call call;
    call.kind = comm::CallKind::kAllToAll;
    call.dtype = program_->dtype;
    call.parts = parts;
    call.shape = program_->plan->sizes;
    call.origin = origin_;
    call.keep = {buffers_};
    posted_.push_back(group.post(call));
  }
  void post_message(const PostedMessage& m) {
    comm::Message message{m.from,  m.to,      data_of(m), m.count, program_->dtype, tag_ + (phase_ > 0),
                          origin_, {buffers_}};
    posted_.push_back(m.sends ? program_->group->send(message) : program_->group->receive(message));
  }
  void post_call(const PostedCall& c) {
    std::vector<comm::Part> parts;
    for (size_t i = 0; i < c.inputs.size(); i++)
      parts.push_back({slots_[c.inputs[i]], slots_[c.outputs[i]], {}, {}});
    comm::Call call;
    call.kind = c.kind;
    call.dtype = program_->dtype;
    call.levels = c.levels;
    call.parts = parts;
    call.count = c.count;
    call.counts = c.counts;
    call.reduction = c.reduction;
    call.shape = program_->plan->sizes;
    call.origin = origin_;
    call.keep = {buffers_};
    posted_.push_back(c.group->post(call));
  }

  Ref<const Program> program_;
  Ref<Buffers> buffers_;
  std::string origin_;
  SmallVector<void*, 16> slots_;
  std::vector<Ref<comm::Request>> posted_;  // of the current phase
  size_t arrived_ = 0;                      // of them are complete
  size_t phase_ = 0;
  int64_t tag_ = 0;
  std::mutex mutex_;
};

}  // namespace

Ref<comm::Request> post(const Program& program, const Call& call) {
  TW_CHECK(static_cast<int>(call.inputs.size()) == program.inputs &&
               static_cast<int>(call.outputs.size()) == program.outputs,
           kValue, "boxing: the memory of ", program.inputs, " addressable ranks before and of ",
           program.outputs, " after is wanted, got ", call.inputs.size(), " and ", call.outputs.size());
  if (!program.is_local()) return make_ref<Running>(program, call);
  static auto* done = new Ref<comm::Request>(make_ref<Done>());
  SmallVector<void*, 16> slots;
  for (const void* input : call.inputs) slots.push_back(const_cast<void*>(input));
  slots.append(call.outputs.begin(), call.outputs.end());
  SmallVector<device::Scratch, 2> scratch;
  std::vector<DeviceMemory> on_devices;
  make_scratch(program, [&](size_t slot, size_t size_bytes) {
    slots.push_back(on_cpu(program) ? scratch.emplace_back(size_bytes).get()
                                    : on_devices.emplace_back(memory_of(program, slot, size_bytes)).get());
  });
  for (const LocalOp& op : program.phases[0].ops) run_op(program, op, slots.data());
  return *done;
}

Ref<comm::Request> post(const sbp::BoxingPlanRef& plan, DType dtype, const Call& call) {
  return post(*program_of(plan, dtype), call);
}

std::vector<int64_t> addressable_positions(const sbp::Placement& placement) {
  std::vector<int64_t> positions;
  for (int64_t position = 0; position < placement.count(); position++)
    if (comm::world().addressable(static_cast<int>(placement.ranks[position]))) positions.push_back(position);
  return positions;
}

}  // namespace tw::boxing

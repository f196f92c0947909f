#include "comm/group.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include "comm/device_group.h"
#include "comm/fabric.h"
#include "comm/local_group.h"
#include "comm/process_group.h"
#include "comm/reduce.h"

namespace tw::comm {

namespace {

void check_counts(const Call& call, int members) {
  const char* op = name_of(call.kind);
  TW_CHECK(call.count >= 0, kValue, op, ": the count is negative: ", call.count);
  TW_CHECK(call.counts.empty() || static_cast<int>(call.counts.size()) == members, kValue, op,
           ": a count for each of ", members, " members is wanted, got ", call.counts.size());
  for (int64_t count : call.counts) TW_CHECK(count >= 0, kValue, op, ": a count is negative: ", count);
  if (call.kind != CallKind::kAllToAll) return;
  for (const Part& part : call.parts) {
    for (std::span<const int64_t> counts : {part.send_counts, part.receive_counts}) {
      TW_CHECK(static_cast<int>(counts.size()) == members, kValue, op, ": a count for each of ", members,
               " members is wanted, got ", counts.size());
      for (int64_t count : counts) TW_CHECK(count >= 0, kValue, op, ": a count is negative: ", count);
    }
  }
}

bool has_root(CallKind kind) {
  return kind == CallKind::kReduce || kind == CallKind::kBroadcast || kind == CallKind::kGather ||
         kind == CallKind::kScatter;
}

bool reduces(CallKind kind) {
  return kind == CallKind::kAllReduce || kind == CallKind::kReduce || kind == CallKind::kReduceScatter;
}

}  // namespace

const char* name_of(CallKind kind) {
  constexpr const char* kNames[] = {"all_reduce", "reduce",  "broadcast",  "reduce_scatter", "all_gather",
                                    "gather",     "scatter", "all_to_all", "barrier"};
  return kNames[static_cast<int>(kind)];
}

const char* name_of(Reduction reduction) {
  constexpr const char* kNames[] = {"sum", "prod", "min", "max"};
  return kNames[static_cast<int>(reduction)];
}

Group::Group(std::vector<int> ranks, int64_t timeout_ms, const World& world, device::DeviceType type)
    : ranks_(std::move(ranks)), type_(type), timeout_ms_(timeout_ms) {
  for (int member = 0; member < size(); member++)
    if (world.addressable(ranks_[member])) members_.push_back(member);
  name_ = cat("group ", ranks_);
}

namespace {

constexpr uint64_t kShared = uint64_t{1} << 63;   // the instance that Group::of gives, plus the caller
constexpr uint64_t kControl = uint64_t{1} << 62;  // of groups that tell those on devices

std::atomic<MakeDeviceGroup> g_device_groups{nullptr};

// `instance` tells groups among processes with equal ranks apart; it is asked for only where it counts.
template <class Instance>
Ref<Group> make_group(std::vector<int> ranks, int64_t timeout_ms, Instance instance) {
  const World& now = world();
  TW_CHECK(!ranks.empty(), kPlacement, "group: at least one rank is wanted, got none");
  std::vector<int> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); i++) {
    TW_CHECK(now.is_valid(sorted[i]), kPlacement, "group: there is no rank ", sorted[i], ": the job has ",
             now.size());
    TW_CHECK(i == 0 || sorted[i] != sorted[i - 1], kPlacement, "group: rank ", sorted[i], " comes twice in ",
             ranks);
  }
  bool mine = false, others = false;
  for (int rank : ranks) (now.addressable(rank) ? mine : others) = true;
  if (!mine || !others) return make_local_group(std::move(ranks), timeout_ms);
  uint64_t number = instance(ranks);
  return make_process_group(*fabric(), std::move(ranks), timeout_ms, number);
}

uint64_t next_instance(const std::vector<int>& ranks) {
  static std::mutex mutex;
  static auto* made = new std::map<std::vector<int>, uint64_t>;
  std::lock_guard lock(mutex);
  return (*made)[ranks]++;
}

Ref<Group> make_device_group(std::vector<int> ranks, int64_t timeout_ms, uint64_t instance) {
  MakeDeviceGroup make = g_device_groups.load(std::memory_order_acquire);
  TW_CHECK(make, kDevice, "group: there is no CUDA backend; tw.cuda.why_unavailable() says why");
  Ref<Group> control = make_control(std::move(ranks), timeout_ms, instance | kControl);
  return make({control, timeout_ms, instance});
}

}  // namespace

void set_device_groups(MakeDeviceGroup make) { g_device_groups.store(make, std::memory_order_release); }

Ref<Group> make_control(std::vector<int> ranks, int64_t timeout_ms, uint64_t instance) {
  return make_group(std::move(ranks), timeout_ms, [&](const auto&) { return instance; });
}

Ref<Group> Group::make(std::vector<int> ranks, int64_t timeout_ms, device::DeviceType type) {
  uint64_t instance = next_instance(ranks);
  if (type != device::DeviceType::kCpu) return make_device_group(std::move(ranks), timeout_ms, instance);
  Ref<Group> group = make_control(std::move(ranks), timeout_ms, instance);
  group->instance_ = instance;
  return group;
}

Ref<Group> Group::on(device::DeviceType type) {
  if (type == type_) return Ref<Group>(this);
  TW_CHECK(type_ == device::DeviceType::kCpu, kNotImplemented, name_, ": it is one of GPUs already");
  std::lock_guard lock(mutex_);
  if (!on_devices_) on_devices_ = make_device_group(ranks_, timeout_ms(), instance_);
  return on_devices_;
}

namespace {

struct SharedGroups {
  std::mutex mutex;
  using Key = std::tuple<int, Caller, device::DeviceType, std::vector<int>>;  // world, caller, devices, ranks
  std::map<Key, Ref<Group>> groups;
  int64_t timeout_ms = kDefaultTimeoutMs;
};

SharedGroups& shared_groups() {
  static auto* shared = new SharedGroups;
  return *shared;
}

}  // namespace

Ref<Group> Group::of(std::span<const int> ranks, Caller caller, device::DeviceType type) {
  SharedGroups& shared = shared_groups();
  std::vector<int> list(ranks.begin(), ranks.end());
  uint64_t instance = kShared + static_cast<uint64_t>(caller);
  std::lock_guard lock(shared.mutex);
  Ref<Group>& group = shared.groups[{world_version(), caller, type, list}];
  if (!group)
    group = type == device::DeviceType::kCpu
                ? make_control(std::move(list), shared.timeout_ms, instance)
                : make_device_group(std::move(list), shared.timeout_ms, instance);
  return group;
}

void Group::set_shared_timeout(int64_t timeout_ms) {
  SharedGroups& shared = shared_groups();
  std::lock_guard lock(shared.mutex);
  shared.timeout_ms = timeout_ms;
  for (auto& [key, group] : shared.groups)
    if (group) group->timeout_ms_.store(timeout_ms, std::memory_order_relaxed);
}

int Group::member_of(int rank) const {
  auto found = std::find(ranks_.begin(), ranks_.end(), rank);
  return found == ranks_.end() ? -1 : static_cast<int>(found - ranks_.begin());
}

Ref<Request> Group::post(const Call& call) {
  const char* op = name_of(call.kind);
  TW_CHECK(!members_.empty(), kPlacement, op, ": this process has no rank in ", name_);
  if (call.kind != CallKind::kBarrier) {
    TW_CHECK(call.parts.size() == members_.size(), kValue, op, ": the memory of ", members_.size(),
             " addressable members is wanted, got that of ", call.parts.size());
    check_counts(call, size());
    if (has_root(call.kind))
      TW_CHECK(call.root >= 0 && call.root < size(), kValue, op, ": the root must be one of ", size(),
               " members, got ", call.root);
    if (reduces(call.kind)) check_reduction(call.dtype, call.reduction, op);
  }
  return start(call);
}

namespace {

void check_message(const Message& message, const Group& group, const char* op, int here) {
  TW_CHECK(message.count >= 0, kValue, op, ": the count is negative: ", message.count);
  for (int member : {message.from, message.to})
    TW_CHECK(member >= 0 && member < group.size(), kValue, op, ": one of ", group.size(), " members of ",
             group.name(), " is wanted, got ", member);
  TW_CHECK(message.from != message.to, kValue, op, ": a member cannot send to itself, got ", here, " twice");
  bool mine = std::find(group.members().begin(), group.members().end(), here) != group.members().end();
  TW_CHECK(mine, kPlacement, op, ": member ", here, " of ", group.name(), " is not of this process");
}

}  // namespace

Ref<Request> Group::send(const Message& message) {
  check_message(message, *this, "send", message.from);
  return start_send(message);
}

Ref<Request> Group::receive(const Message& message) {
  check_message(message, *this, "recv", message.to);
  return start_receive(message);
}

}  // namespace tw::comm

#include "cuda/comm/nccl_group.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "comm/local_calls.h"
#include "comm/progress.h"
#include "comm/world.h"
#include "cuda/comm/groups.h"
#include "cuda/comm/moved_bytes.h"
#include "cuda/comm/watch.h"
#include "cuda/device/failures.h"

namespace tw::cuda {

using comm::Call;
using comm::CallKind;
using comm::Message;

namespace {

int device_of(const comm::Group& group, int member) {
  return comm::world().device_of(group.ranks()[member], device::DeviceType::kCuda).index;
}

uint64_t mixed(uint64_t instance, int from, int to) {
  uint64_t id = instance;
  for (int member : {from, to}) id = (id ^ static_cast<uint64_t>(member + 1)) * 1099511628211u;
  return id & ~(uint64_t{3} << 62);  // the two bits say what a group is for
}

}  // namespace

namespace {

// Groups with calls that wait for members elsewhere.
std::mutex g_active_mutex;
std::vector<Ref<NcclGroup>>& active_groups() {
  static auto* all = new std::vector<Ref<NcclGroup>>;
  return *all;
}

void add_active(NcclGroup& group) {
  std::lock_guard lock(g_active_mutex);
  for (const Ref<NcclGroup>& known : active_groups())
    if (known.get() == &group) return;
  active_groups().emplace_back(&group);
}

void advance_all() {
  std::vector<Ref<NcclGroup>> groups;
  {
    std::lock_guard lock(g_active_mutex);
    if (active_groups().empty()) return;
    groups = active_groups();
  }
  for (const Ref<NcclGroup>& group : groups) group->try_advance();
  std::lock_guard lock(g_active_mutex);
  std::erase_if(active_groups(), [](const Ref<NcclGroup>& group) { return group->is_idle(); });
}

}  // namespace

NcclWork::NcclWork(NcclGroup& group, const Call& call) : group_(&group), kept_(call) {
  for (int member : group.members()) {
    int device = device_of(group, member);
    ready_.push_back(make_ref<CudaEvent>(device));
    ready_.back()->record(stream_of_thread(device));
  }
}

std::string NcclWork::text() const {
  return cat(comm::name_of(kept_.call.kind), " of ", kept_.call.dtype, " ", kept_.call.shape,
             kept_.origin.empty() ? "" : " at ", kept_.origin);
}

bool NcclWork::done() {
  if (launched_ns_ == 0) return false;
  for (const Ref<CudaEvent>& event : done_)
    if (!event->done()) return false;
  return true;
}

void NcclWork::follow() {
  for (const Ref<CudaEvent>& event : done_) {
    int device = event->device();
    OnDevice on(device);
    check(cudaStreamWaitEvent(stream_of_thread(device).handle(), event->handle(), 0), "collective");
  }
}

void NcclWork::check_alive() const {
  if (failure_.empty()) return;
  forget_failure(failure_);
  TW_FAIL(kComm, failure_);
}

bool NcclWork::test() {
  advance_all();
  std::lock_guard lock(group_->mutex_);
  group_->advance();
  check_alive();
  if (!done()) return false;
  group_->collect();
  return true;
}

// Until the call is queued on the devices of this process. Others may need what this process has posted in
// other groups before they come to this one.
void NcclWork::wait(int64_t timeout_ms) {
  if (timeout_ms == comm::kGroupTimeout) timeout_ms = group_->timeout_ms();
  constexpr int64_t kAfterNs = 500'000'000;  // the control group, which knows who is late, comes first
  int64_t begin = now_ns(), deadline = begin + timeout_ms * 1'000'000 + kAfterNs;
  for (int turn = 0;; turn++) {
    advance_all();
    std::lock_guard lock(group_->mutex_);
    group_->advance();
    check_alive();
    if (launched_ns_ != 0) {
      follow();
      return group_->collect();
    }
    if (now_ns() > deadline) {
      group_->fail(cat(text(), ": not complete within ", timeout_ms, " ms in ", group_->name()));
      check_alive();
    }
    if (turn < 200) continue;
    comm::progress_until([] { return false; }, 0);  // groups on CPUs may have news for others
    bool long_ago = now_ns() - begin > 1'000'000'000;
    std::this_thread::sleep_for(std::chrono::microseconds(long_ago ? 1000 : 50));
    if (turn % 256 == 0) comm::check_interrupt();
  }
}

NcclGroup::NcclGroup(const comm::DeviceGroupOptions& options)
    : Group({options.control->ranks().begin(), options.control->ranks().end()}, options.timeout_ms,
            comm::world(), device::DeviceType::kCuda),
      control_(options.control),
      instance_(options.instance),
      local_messages_(name(), mutex_) {}

void NcclGroup::check_alive(const char* op) const {
  TW_CHECK(failure_.empty(), kComm, op, ": ", name(), " is out of use since a call has failed: ", failure_);
}

Ref<comm::Request> NcclGroup::start(const Call& call) {
  const char* op = comm::name_of(call.kind);
  if (call.kind == CallKind::kBarrier) return control_->post(call);
  if (call.kind == CallKind::kAllReduce || call.kind == CallKind::kReduce ||
      call.kind == CallKind::kReduceScatter)
    reduced_elements(call.dtype, call.reduction, op);
  if (call.kind == CallKind::kAllToAll && in_process()) comm::check_exchange(call);
  std::lock_guard lock(mutex_);
  check_alive(op);
  if (!communicators_ && !id_comes_ && ids_.empty()) prepare();
  auto work = make_ref<NcclWork>(*this, call);
  if (!in_process()) {
    Call told = work->kept_.call;
    told.elsewhere = true;
    work->announced_ = control_->post(told);
  }
  posted_.push_back(work);
  advance();
  while (in_process() && !posted_.empty()) {  // all members are here: nobody has to come
    std::this_thread::yield();
    advance();
  }
  if (in_process()) {
    work->check_alive();
  } else if (!posted_.empty()) {
    add_active(*this);
  }
  return work;
}

// Among several processes the first member makes the id. All members come here before their first call.
void NcclGroup::prepare() {
  epoch_ = control_->epoch();
  ids_.resize(members().size());
  if (members()[0] == 0) ids_[0] = Communicators::make_id();
  if (in_process()) return;
  std::vector<comm::Part> parts;
  for (ncclUniqueId& id : ids_) parts.push_back({&id, &id, {}, {}});
  Call call;
  call.kind = CallKind::kBroadcast;
  call.dtype = DType::kUInt8;
  call.count = sizeof(ncclUniqueId);
  call.parts = parts;
  id_comes_ = control_->post(call);
}

// What lasts: looked at now and then, as a call of the control group is.
void NcclGroup::look(int64_t since_ns, const std::string& what) {
  constexpr int64_t kLookNs = 100'000'000;
  int64_t now = now_ns();
  TW_CHECK(now - since_ns < timeout_ms() * 1'000'000, kComm, what, ": not complete within ", timeout_ms(),
           " ms in ", name());
  if (now - std::max(looked_, since_ns) < kLookNs) return;
  looked_ = now;
  control_->check_members();
}

bool NcclGroup::communicators_stand() {
  if (stand_) return true;
  if (id_comes_ && !id_comes_->test()) return false;
  id_comes_ = nullptr;
  if (!communicators_) {
    making_since_ = now_ns();
    communicators_ = std::make_unique<Communicators>(*this, ids_[0]);
    if (!in_process()) watch_group(*this);
  }
  stand_ = communicators_->settled(name().c_str());
  if (!stand_) look(making_since_, "NCCL's communicators");
  return stand_;
}

bool NcclGroup::launch(NcclWork& work) {
  if (work.announced_ && !work.announced_->test()) return false;
  if (!communicators_stand()) return false;
  Communicators& all = *communicators_;
  if (work.begun_ns_ == 0) {
    for (size_t k = 0; k < work.ready_.size(); k++) {
      OnDevice on(all.device(k));
      check(cudaStreamWaitEvent(all.stream(k).handle(), work.ready_[k]->handle(), 0), "collective");
    }
    work.begun_ns_ = now_ns();
    all.begin(work.kept_.call);
  }
  if (!all.settled(comm::name_of(work.kept_.call.kind))) {
    look(work.begun_ns_, work.text());
    return false;
  }
  for (size_t k = 0; k < work.ready_.size(); k++) {
    work.done_.push_back(make_ref<CudaEvent>(all.device(k)));
    work.done_.back()->record(all.stream(k));
  }
  work.launched_ns_ = now_ns();
  count_moved(cuda::moved_bytes(work.kept_.call, *this));
  return true;
}

void NcclGroup::advance() {
  try {
    while (!posted_.empty() && launch(*posted_.front())) {
      running_.push_back(posted_.front());
      posted_.pop_front();
    }
  } catch (const Error& error) {
    fail(error.what());
  }
}

void NcclGroup::try_advance() {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock) advance();
}

bool NcclGroup::is_idle() {
  std::unique_lock lock(mutex_, std::try_to_lock);
  return lock && posted_.empty();
}

void NcclGroup::collect() {
  while (!running_.empty() && running_.front()->done()) {
    running_.front()->kept_.call.keep.clear();
    running_.pop_front();
  }
}

// The first cause stays. Members elsewhere hear of it through the control group.
void NcclGroup::fail(const std::string& reason) {
  if (!failure_.empty()) return;
  failure_ = reason;
  if (communicators_) communicators_->abort();
  communicators_ = nullptr;
  stand_ = false;
  for (std::deque<Ref<NcclWork>>* list : {&posted_, &running_}) {
    for (const Ref<NcclWork>& work : *list) {
      work->failure_ = reason;
      work->kept_.call.keep.clear();
    }
    list->clear();
  }
  control_->give_up(reason);
}

void NcclGroup::give_up(const std::string& reason) {
  std::lock_guard lock(mutex_);
  fail(reason);
}

void NcclGroup::begin_anew() {
  control_->begin_anew();
  std::lock_guard lock(mutex_);
  if (failure_.empty() && epoch_ == control_->epoch()) return;
  failure_.clear();
  communicators_ = nullptr;
  stand_ = false;
  ids_.clear();
  id_comes_ = nullptr;
  for (auto& [ends, pair] : pairs_) pair->begin_anew();
}

// What is wrong with the first call on the devices; empty for nothing.
std::string NcclGroup::trouble() {
  const NcclWork& work = *running_.front();
  int64_t running_ms = (now_ns() - work.launched_ns_) / 1'000'000;
  if (running_ms > timeout_ms())
    return cat(work.text(), ": not complete within ", timeout_ms(), " ms in ", name());
  if (std::string problem = communicators_->problem(); !problem.empty())
    return cat(work.text(), ": ", problem);
  // A member that has ended may have done its part, which is then on its way.
  constexpr int64_t kGraceMs = 2000;
  if (running_ms < kGraceMs) return "";
  try {
    control_->check_members();
  } catch (const Error& error) {
    return cat(work.text(), ": ", error.what());
  }
  return "";
}

void NcclGroup::watch() {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || running_.empty() || !communicators_) return;  // whoever has the lock looks for itself
  collect();
  if (running_.empty()) return;
  std::string reason = trouble();
  if (reason.empty()) return;
  note_failure(reason);  // before streams go on
  fail(reason);
}

// A message is a broadcast in a group of its two members, one for each direction: messages between two
// members arrive in the order in which they were sent, and two that cross do not wait for each other.
Ref<comm::Request> NcclGroup::post_message(const Message& message, bool sends) {
  std::unique_lock lock(mutex_);
  check_alive(sends ? "send" : "recv");
  bool near = true;
  for (int member : {message.from, message.to}) near = near && comm::world().addressable(ranks()[member]);
  if (sends) count_moved(message.count * size_of(message.dtype));
  if (near)
    return local_messages_.post(message, sends, device_of(*this, sends ? message.from : message.to),
                                timeout_ms());
  Ref<comm::Group>& pair = pairs_[{message.from, message.to}];
  if (!pair) {
    uint64_t instance = mixed(instance_, message.from, message.to);
    std::vector<int> ends{ranks()[message.from], ranks()[message.to]};
    pair = make_ref<NcclGroup>(
        comm::DeviceGroupOptions{comm::make_control(ends, timeout_ms(), instance), timeout_ms(), instance});
  }
  Ref<comm::Group> group = pair;
  lock.unlock();
  comm::Part part{sends ? message.data : nullptr, sends ? nullptr : message.data, {}, {}};
  Call call;
  call.kind = CallKind::kBroadcast;
  call.dtype = message.dtype;
  call.count = message.count;
  call.parts = std::span(&part, 1);
  call.shape = Dims{message.count, message.tag};
  call.origin = message.origin;
  call.keep = message.keep;
  return group->post(call);
}

Ref<comm::Request> NcclGroup::start_send(const Message& message) { return post_message(message, true); }
Ref<comm::Request> NcclGroup::start_receive(const Message& message) { return post_message(message, false); }

namespace {

Ref<comm::Group> make_nccl_group(const comm::DeviceGroupOptions& options) {
  return make_ref<NcclGroup>(options);
}

}  // namespace

void register_groups() { comm::set_device_groups(make_nccl_group); }

}  // namespace tw::cuda

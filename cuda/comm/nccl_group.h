// A group of ranks with GPUs, over NCCL.
//
// A call runs on a stream of the group's own on each device, between two events: it begins when what was
// queued on the current stream before it was posted has run, and what is queued there after somebody has
// waited for it begins when it is done. So calls that are posted ahead overlap with kernels, the calls of one
// group keep their order, and groups do not wait for each other, as on the CPU; the price is two events a
// call and device. (On the current stream itself a call would hold up the kernels behind it, and two groups
// whose calls two ranks make in different order would wait for ever.)
//
// Members in other processes hear of a call through the control group, a group of the same ranks on the CPU:
// each tells what it calls, and only when all have told the same does NCCL get it. So a mistake is an error
// on every member and never work that hangs on a device, and NCCL's id comes the same way.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "comm/device_group.h"
#include "cuda/comm/communicators.h"
#include "cuda/comm/local_messages.h"

namespace tw::cuda {

class NcclGroup;

// A call that was posted.
class NcclWork final : public comm::Request {
 public:
  NcclWork(NcclGroup& group, const comm::Call& call);
  bool test() override;
  void wait(int64_t timeout_ms) override;

 private:
  friend class NcclGroup;
  bool done();               // on the devices
  void follow();             // current streams wait for it
  void check_alive() const;  // throws what made it fail
  std::string text() const;  // "all_reduce of float32"

  Ref<NcclGroup> group_;
  KeptCall kept_;
  Ref<comm::Request> announced_;              // to members elsewhere; null where there are none
  std::vector<Ref<CudaEvent>> ready_, done_;  // by member of this process
  int64_t begun_ns_ = 0, launched_ns_ = 0;    // 0: not yet
  std::string failure_;
};

class NcclGroup final : public comm::Group {
 public:
  explicit NcclGroup(const comm::DeviceGroupOptions& options);

  void give_up(const std::string& reason) override;
  void begin_anew() override;
  void check_members() override { control_->check_members(); }
  uint64_t epoch() const override { return control_->epoch(); }

  // Fails what is on the devices when a member has died, NCCL has failed or its time is over. For watch.cc.
  void watch();
  // advance(), unless another thread is at it; and whether nothing is left for that.
  void try_advance();
  bool is_idle();

 private:
  friend class NcclWork;
  Ref<comm::Request> start(const comm::Call& call) override;
  Ref<comm::Request> start_send(const comm::Message& message) override;
  Ref<comm::Request> start_receive(const comm::Message& message) override;
  Ref<comm::Request> post_message(const comm::Message& message, bool sends);

  // These want the lock held.
  void prepare();               // NCCL's id is on its way
  void advance();               // gives NCCL what all members have told; never blocks, never throws
  bool launch(NcclWork& work);  // whether it is on the devices
  bool communicators_stand();
  void collect();  // lets go of the memory of what is done
  void fail(const std::string& reason);
  std::string trouble();
  void look(int64_t since_ns, const std::string& what);
  void check_alive(const char* op) const;

  Ref<comm::Group> control_;
  const uint64_t instance_;
  std::mutex mutex_;
  LocalMessages local_messages_;
  std::unique_ptr<Communicators> communicators_;
  int64_t making_since_ = 0, looked_ = 0;
  bool stand_ = false;             // the communicators have met
  std::vector<ncclUniqueId> ids_;  // one a member of this process, as they come
  Ref<comm::Request> id_comes_;
  std::deque<Ref<NcclWork>> posted_, running_;
  std::map<std::pair<int, int>, Ref<comm::Group>> pairs_;  // of messages from one member to another
  std::string failure_;
  uint64_t epoch_ = 0;
};

}  // namespace tw::cuda

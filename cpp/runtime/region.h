// A launch of control flow: runs its region's plans, on the caller's thread, in memory that the launch was
// given. An iteration costs the rebinding of the parts that it takes and gives.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/bindings.h"
#include "runtime/kernel_source.h"

namespace tw::runtime {

class Chain;

class RegionLaunch final : public LaunchKernel {
 public:
  // Of `plan`. `owner` runs the launch, and hears of the draws that it takes besides those that the plan has
  // for it.
  RegionLaunch(const plan::Plan& plan, const plan::Launch& launch, KernelSource& source, Chain& owner);
  ~RegionLaunch() override;

  void write_number(const plan::Lifted& where, const Scalar& value) override;
  void cancel() override;
  void resume() override;
  void give_up(const std::string& reason) override;
  // The numbers and the seed of a step.
  void begin_step(const StepBindings& step);

  uint64_t first_draw = 0;  // of the region's; set before each firing of the owner

 private:
  struct Body;
  class Memory;
  void point_arenas(Body& body, const device::KernelContext& context) const;
  void run(device::KernelContext& context);
  int64_t run_cond(device::KernelContext& context);
  int64_t run_loop(device::KernelContext& context);
  int64_t fire(Body& body, int64_t drawn);

  const plan::Region& region_;
  Chain& owner_;
  int64_t draw_, draws_, outer_part_ = 0;
  std::atomic<bool> cancelled_{false};
  std::vector<std::unique_ptr<Memory>> inputs_;  // where each input of the launch lies
  std::unique_ptr<Memory> deciding_;             // where a loop says whether it goes on
  std::vector<std::unique_ptr<Body>> bodies_;
};

}  // namespace tw::runtime

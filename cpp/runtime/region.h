// A launch of control flow: runs the chains of its region's plans, on the caller's thread, in memory that the
// launch was given. An iteration costs the rebinding of the parts that it takes and gives.
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
  // `owner` runs the launch, for which its plan has `draws` draws, and hears of those that it takes besides.
  RegionLaunch(const plan::Region& region, const plan::Launch& launch, int64_t draws, KernelSource& source,
               Chain& owner);
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
  void run(device::KernelContext& context);
  int64_t run_cond(device::KernelContext& context);
  int64_t run_loop(device::KernelContext& context);
  int64_t fire(Body& body, int64_t drawn);

  const plan::Region& region_;
  Chain& owner_;
  int64_t draw_, draws_, outer_part_ = 0;
  std::atomic<bool> cancelled_{false};
  std::unique_ptr<Memory> memory_;
  std::vector<std::unique_ptr<Body>> bodies_;
};

}  // namespace tw::runtime

// On which device a traced program computes. The first tensor or op that cannot be anywhere else decides, all
// others have to agree, and what fits everywhere follows: numbers, and what the host fills while the function
// is traced. Between the ends of the program, its leaves and results, all is computed there.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "eager/tensor.h"
#include "ir/graph.h"

namespace tw::eager {

class TracedDevice {
 public:
  // `graph` is told the device. `here` says where in the user's code this thread is, for errors.
  TracedDevice(ir::Graph& graph, std::function<std::string()> here) : graph_(graph), here_(std::move(here)) {}

  // `what`, an op or a tensor, is on `device`. All devices of the CPU are one here. Throws kValue, and names
  // both, where something else has decided otherwise.
  void settle(device::Device device, const char* what);
  // The same of a tensor that follows the program where it lies on the CPU: a run brings it.
  void settle_unless_cpu(device::Device device, const char* what);
  // The same of a global tensor: on the devices of this process that its placement may have.
  void settle(const sbp::Placement& placement);
  // An op that runs on `device` now. One on numbers, on memory of NumPy and the like, and on what is made of
  // these or filled by the host decides nothing: its results are such values, too.
  void settle_op(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<Tensor> outputs,
                 device::Device device);

  // The host fills it while the function is traced: a constant of the program.
  void filled_by_host(const Ref<Storage>& storage) { host_filled_[storage.get()] = storage; }
  bool is_filled_by_host(const Storage& storage) const { return host_filled_.count(&storage); }

  // The accelerator on which the program computes, so far as that is known; else `current`.
  device::Device accelerator_or(device::Device current) const;

 private:
  bool agrees(device::Device device) const;
  bool fits_everywhere(std::span<const ir::Value> inputs) const;

  ir::Graph& graph_;
  std::function<std::string()> here_;
  std::optional<device::Device> device_;
  bool several_ = false;    // it is the first of those of this process, on which parts lie
  std::string settled_by_;  // which op or tensor, and where
  // Kept alive, so that their addresses stay theirs; null for storages of the trace, which the tracer keeps.
  std::unordered_map<const Storage*, Ref<Storage>> host_filled_;
};

}  // namespace tw::eager

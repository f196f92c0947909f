// Kernels and attributes of a graph's nodes, for the runtime.
#pragma once

#include "device/backend.h"
#include "ir/graph.h"
#include "runtime/kernel_source.h"
#include "session/agreement.h"

namespace tw::session {

class GraphKernels final : public runtime::KernelSource {
 public:
  explicit GraphKernels(const ir::Graph& graph) : GraphKernels(graph, graph, nullptr) {}
  std::unique_ptr<runtime::LaunchKernel> bind(const plan::Launch& launch) override;
  std::unique_ptr<runtime::KernelSource> body(const plan::Launch& launch, int body) override;
  // What the processes do before they meet; null where no kernel of a boxing has been asked for.
  const std::shared_ptr<Agreement>& known_agreement() const { return agreement_; }

 private:
  // Of a region: `root` has the texts.
  GraphKernels(const ir::Graph& graph, const ir::Graph& root, std::shared_ptr<Agreement> agreement)
      : graph_(graph),
        root_(root),
        device_(device::parse_device(root.device).type),
        agreement_(std::move(agreement)) {}
  const std::shared_ptr<Agreement>& agreement();
  void check_kernel(const ir::OpDef& def, const plan::Launch& launch) const;

  const ir::Graph &graph_, &root_;
  device::DeviceType device_;
  std::shared_ptr<Agreement> agreement_;  // of the boxings; null before the first
};

}  // namespace tw::session

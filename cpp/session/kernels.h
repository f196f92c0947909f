// Kernels and attributes of a graph's nodes, for the runtime.
#pragma once

#include "ir/graph.h"
#include "runtime/kernel_source.h"
#include "session/agreement.h"

namespace tw::session {

class GraphKernels final : public runtime::KernelSource {
 public:
  explicit GraphKernels(const ir::Graph& graph) : graph_(graph) {}
  std::unique_ptr<runtime::LaunchKernel> bind(const plan::Launch& launch) override;
  std::unique_ptr<runtime::KernelSource> body(const plan::Launch& launch, int body) override;

 private:
  const ir::Graph& graph_;
  std::shared_ptr<Agreement> agreement_;  // of the boxings; null before the first
};

}  // namespace tw::session

// Lets passes compute with the kernels of eager mode, beside dispatch: neither modes nor the tape see it.
#pragma once

#include "ir/evaluator.h"

namespace tw::eager {

class EagerEvaluator final : public ir::Evaluator {
 public:
  std::optional<Scalar> evaluate(const ir::Node& node, std::span<const Scalar> inputs) override;
  bool has_kernel(const ir::OpDef& def, const std::string& device) override;
};

}  // namespace tw::eager

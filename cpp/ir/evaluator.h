// Computes ops while a graph is compiled. Passes reach no kernels: whoever has them supplies an Evaluator.
#pragma once

#include <optional>
#include <span>

#include "ir/graph.h"

namespace tw::ir {

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // What the only output of `node` is where all elements of input i equal inputs[i]. The op is element-wise
  // or all of it is 0-dim. None where that has to be left to the run: there is no kernel, or it fails.
  virtual std::optional<Scalar> evaluate(const Node& node, std::span<const Scalar> inputs) = 0;
  // Whether a graph of `device` may hold the op.
  virtual bool has_kernel(const OpDef& def, const std::string& device) = 0;

  static Evaluator* current();  // null before one is set
  static void set_current(Evaluator* evaluator);
};

}  // namespace tw::ir

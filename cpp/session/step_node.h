// A run of a step on the tape: its backward is the second half of the step's trace.
#pragma once

#include "session/step.h"

namespace tw::session {

// What is differentiated outside, and by what.
struct Tape {
  std::vector<int> results;              // of those that the step returns
  std::vector<int> arguments;            // tensors that want gradients: arguments,
  std::vector<eager::Tensor> variables;  // and tensors of the outside; in the order of the step's gradients
};

// Runs the step and puts the run on the tape. Backward runs once, unless the graph is retained, and is not
// differentiable itself.
std::vector<eager::Tensor> run_on_tape(const std::shared_ptr<Step>& step, const Tape& tape,
                                       std::span<const eager::Tensor> inputs,
                                       std::span<const Scalar> numbers);

}  // namespace tw::session

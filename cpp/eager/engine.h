// Backward: walks the tape from the outputs, newest node first.
#pragma once

#include <vector>

#include "eager/node.h"
#include "eager/tensor.h"

namespace tw::eager {

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;
  bool allow_unused = false;
  bool accumulate = true;  // into the .grad of leaves; false: only return the gradients of `inputs`
};

// Gradients of `outputs`, weighed by `grads` (null entries mean ones, for outputs of one element). With
// `inputs` non-empty only what leads to them runs; returns their gradients when not accumulating (null where
// unused, or throws kRuntime unless allow_unused). Runs of several threads follow one another.
std::vector<Tensor> run_backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& grads,
                                 const std::vector<Tensor>& inputs, BackwardOptions options);

// What backward() on this thread multiplies the gradients by that it starts from; gradients that are not
// accumulated in .grad are left alone. Returns what it was: 1 at first.
double set_gradient_scale(double scale);

// Gradients at `ends` of what `roots` lead to, weighed by `grads` (null: nothing flows in). Nodes with a
// lower number than `first_sequence`, leaves among them, are not run: the ends lie there. Keeps the tape;
// with gradients enabled, what it does is on the tape too.
std::vector<Tensor> gradients_between(const std::vector<Edge>& roots, const std::vector<Tensor>& grads,
                                      const std::vector<Edge>& ends, uint64_t first_sequence);

}  // namespace tw::eager

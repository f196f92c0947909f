// The gradient of the gradient, shared by layer, RMS, batch and group normalisation.
//
// With x̂ = (x - mean) rstd over `stat_dims`, h = g w and m the mean over stat_dims, the backward ops compute
//   dx = rstd (h - m(h) - x̂ m(h x̂)),  dw = Σ g x̂,  db = Σ g   (the sums over affine_dims)
// where RMS normalisation has neither mean nor m(h). P(u) = u - m(u) - x̂ m(u x̂) is symmetric.
#pragma once

#include "ir/emitter.h"

namespace tw::ops {

struct NormTerms {
  ir::Value grad, input;  // g, x
  ir::Value weight;       // broadcasts to x; null: 1
  ir::Value mean, rstd;   // broadcast to x; mean is null for RMS
  IntList stat_dims, affine_dims;
  ir::Value v, v_weight,
      v_bias;  // what flows into dx, dw and db; the latter two broadcast to x; any may be null
};

struct NormSecondOrder {
  ir::Value grad, input, weight;  // weight has x's rank, with affine_dims of size 1
};

// Normalisation is linear in weight and bias together, and its backward (outputs: the three gradients) in the
// gradient that comes first: adds the signatures where these are pending sums.
void add_affine_pending(sbp::RuleContext& c, bool backward);

NormSecondOrder norm_second_order(const NormTerms& t, bool need_grad, bool need_input, bool need_weight);

}  // namespace tw::ops

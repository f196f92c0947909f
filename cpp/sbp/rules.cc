#include "sbp/rules.h"

namespace tw::sbp {

void add_pending(RuleContext& c, std::initializer_list<size_t> inputs, ReduceOp reduce) {
  Signature signature = c.all_broadcast();
  for (size_t input : inputs) signature.inputs[input] = partial(reduce);
  for (Sbp& output : signature.outputs) output = partial(reduce);
  c.add(std::move(signature));
}

void add_moved(RuleContext& c, size_t input) {
  add_pending(c, {input});
  add_rising(c, input);
}

void add_rising(RuleContext& c, size_t input) {
  for (ReduceOp reduce : {ReduceOp::kMax, ReduceOp::kMin}) add_pending(c, {input}, reduce);
}

void elementwise_moved(RuleContext& c) {
  elementwise(c);
  add_moved(c);
}

void elementwise_linear_in_first(RuleContext& c) {
  elementwise(c);
  add_pending(c, {0});
}

}  // namespace tw::sbp

#include "eager/evaluator.h"

#include "eager/dispatch.h"
#include "eager/modes.h"
#include "eager/placing.h"

namespace tw::eager {

// Always on the CPU: where a graph runs elsewhere, too, its numbers are known here.
std::optional<Scalar> EagerEvaluator::evaluate(const ir::Node& node, std::span<const Scalar> inputs) {
  DeviceGuard on_cpu(host_device());
  if (!eager::has_kernel(*node.def)) return std::nullopt;
  TracerPause pause;
  ir::Values operands;
  for (size_t i = 0; i < inputs.size(); i++)
    operands.push_back(scalar_tensor(inputs[i], node.inputs[i]->dtype));
  Tensor output = empty({}, node.outputs[0]->dtype);
  ir::Meta meta{output->dtype, output->sizes};
  try {
    launch(*node.def, {operands.begin(), operands.size()}, {node.starts.begin(), node.starts.size()},
           node.attrs.get(), {&meta, 1}, {&output, 1});
  } catch (const Error&) {
    return std::nullopt;
  }
  return item(*output);
}

bool EagerEvaluator::has_kernel(const ir::OpDef& def, const std::string& device) {
  return kernel_of(def, device::parse_device(device).type) != nullptr;
}

}  // namespace tw::eager

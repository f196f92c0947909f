#include "base/cat.h"
#include "sbp/boxing.h"

namespace tw::sbp {

const char* name_of(StepKind kind) {
  switch (kind) {
    case StepKind::kNothing:
      return "nothing";
    case StepKind::kLocal:
      return "local";
    case StepKind::kAllGather:
      return "all_gather";
    case StepKind::kReduceScatter:
      return "reduce_scatter";
    case StepKind::kAllReduce:
      return "all_reduce";
    case StepKind::kAllToAll:
      return "all_to_all";
    case StepKind::kReduce:
      return "reduce";
    case StepKind::kExchange:
      break;
  }
  return "exchange";
}

std::string explain(const BoxingPlan& plan) {
  std::string out = cat(*plan.from, " → ", *plan.to, ", shape ", plan.sizes, ", ", plan.element_bytes,
                        " bytes an element\n");
  for (size_t i = 0; i < plan.steps.size(); i++) {
    const Step& step = plan.steps[i];
    out += cat(i + 1, ". ", name_of(step.kind));
    if (!step.axes.empty()) out += cat(" over ", step.axes.size() == 1 ? "axis " : "axes ");
    for (size_t a = 0; a < step.axes.size(); a++) out += cat(a > 0 ? ", " : "", step.axes[a]);
    out += cat(": ", step.bytes, " bytes");
    if (step.far_bytes > 0) out += cat(", ", step.far_bytes, " between machines");
    if (step.two_level) out += " in two levels";
    const char* comma = " (";
    for (size_t r = 0; r < plan.ranks.size(); r++)
      if (step.sent[r] > 0)
        out += cat(std::exchange(comma, ", "), "rank ", plan.ranks[r], " sends ", step.sent[r]);
    out += step.bytes > 0 ? ")\n" : "\n";
  }
  return out;
}

}  // namespace tw::sbp

#include "sbp/choose.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "sbp/cutting.h"

namespace tw::sbp {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// Whether the stated sizes are those of this dim: a layout of other sizes is an error told elsewhere.
bool fits(const Sbp& split, int64_t length, int64_t parts) {
  return split.sizes.empty() ||
         (static_cast<int64_t>(split.sizes.size()) == parts &&
          std::accumulate(split.sizes.begin(), split.sizes.end(), int64_t{0}) == length);
}

// Two SBPs give every device the same of a dim of this length.
bool same_cuts(const Sbp& a, const Sbp& b, int64_t length, int64_t parts) {
  if (a == b) return true;
  if (!is_split(a) || !is_split(b) || a.dim != b.dim || length == kUnknownLength) return false;
  return fits(a, length, parts) && fits(b, length, parts) &&
         part_sizes(a, length, parts) == part_sizes(b, length, parts);
}

// One axis of the choice.
class AxisChooser {
 public:
  AxisChooser(const Placement& placement, int64_t axis, std::span<const Operand> inputs,
              std::span<const Dims> outputs, const Demand& demand, const Choice& outer)
      : axis_(axis),
        devices_(placement.shape[axis]),
        placement_(placement),
        inputs_(inputs),
        outputs_(outputs),
        demand_(demand),
        outer_(outer) {}

  void consider(const Signature& signature);
  bool found() const { return best_cost_ < kNever; }
  std::vector<Sbp> inputs, outputs;  // of the best

 private:
  void consider(const Signature& signature, const Fractions& fractions);
  double cost_of(size_t input, const Sbp& wanted, int* changed) const;

  // Of a dim that an earlier axis has cut the length differs from device to device.
  static bool cut_before(const NdSbp& sbp, int64_t axis, int dim) {
    for (int64_t a = 0; a < axis; a++)
      if (is_split(sbp[a]) && sbp[a].dim == dim) return true;
    return false;
  }
  int64_t input_length(size_t i, int dim) const {
    const NdSbp* lies = inputs_[i].lies;
    bool cut = cut_before(outer_.inputs[i], axis_, dim) || (lies && cut_before(*lies, axis_, dim));
    return cut ? kUnknownLength : inputs_[i].sizes[dim];
  }
  int64_t output_length(size_t i, int dim) const {
    return cut_before(outer_.outputs[i], axis_, dim) ? kUnknownLength : outputs_[i][dim];
  }
  // Devices of the other axes between which an input is not cut: each group of this axis moves it.
  double copies(size_t i) const {
    double result = 1;
    for (int64_t a = 0; a < placement_.axes(); a++)
      if (a != axis_ && !is_split((*inputs_[i].lies)[a])) result *= static_cast<double>(placement_.shape[a]);
    return result;
  }

  int64_t axis_, devices_;
  const Placement& placement_;
  std::span<const Operand> inputs_;
  std::span<const Dims> outputs_;
  const Demand& demand_;
  const Choice& outer_;
  double best_cost_ = kNever;
  int best_changed_ = 0;
};

void AxisChooser::consider(const Signature& signature) {
  std::vector<Fractions> tried;
  auto try_once = [&](const Fractions& fractions) {
    if (std::ranges::find(tried, fractions) != tried.end()) return;
    tried.push_back(fractions);
    consider(signature, fractions);
  };
  for (size_t i = 0; i < inputs_.size(); i++) {
    const Sbp& pattern = signature.inputs[i];
    if (!is_split(pattern) || !inputs_[i].lies) continue;
    if (auto f = fractions_of((*inputs_[i].lies)[axis_], pattern, input_length(i, pattern.dim), devices_))
      try_once(*f);
  }
  if (demand_.output && !outputs_.empty() && is_split(signature.outputs[0])) {
    const Sbp& pattern = signature.outputs[0];
    if (auto f = fractions_of((*demand_.output)[axis_], pattern, output_length(0, pattern.dim), devices_))
      try_once(*f);
  }
  try_once(Fractions());
}

double AxisChooser::cost_of(size_t i, const Sbp& wanted, int* changed) const {
  if (!inputs_[i].lies) return wanted.kind == Kind::kPartial ? kNever : 0;
  const Sbp& lies = (*inputs_[i].lies)[axis_];
  if (same_cuts(lies, wanted, is_split(wanted) ? input_length(i, wanted.dim) : kUnknownLength, devices_))
    return 0;
  ++*changed;
  return axis_cost(lies, wanted, inputs_[i].bytes * copies(i), devices_);
}

void AxisChooser::consider(const Signature& signature, const Fractions& fractions) {
  Signature cut = cut_at(signature, fractions, [&](size_t tensor, int dim) {
    return tensor < inputs_.size() ? input_length(tensor, dim) : output_length(tensor - inputs_.size(), dim);
  });
  double cost = 0;
  int changed = 0;
  for (size_t i = 0; i < inputs_.size(); i++) {
    cost += cost_of(i, cut.inputs[i], &changed);
    if (demand_.strict && i == 0 && changed) return;
  }
  if (demand_.output && !cut.outputs.empty()) {
    const Sbp& out = cut.outputs[0];
    int64_t length = is_split(out) ? output_length(0, out.dim) : kUnknownLength;
    if (!same_cuts(out, (*demand_.output)[axis_], length, devices_)) {
      if (demand_.strict) return;
      changed++;
    }
  }
  if (cost > best_cost_ || cost == kNever || (cost == best_cost_ && changed >= best_changed_)) return;
  best_cost_ = cost;
  best_changed_ = changed;
  inputs = std::move(cut.inputs);
  outputs = std::move(cut.outputs);
}

}  // namespace

double axis_cost(const Sbp& from, const Sbp& to, double bytes, int64_t devices) {
  double others = static_cast<double>(devices - 1);
  if (from == to || devices == 1) return 0;
  if (to.kind == Kind::kPartial) return 2 * bytes * others;
  switch (from.kind) {
    case Kind::kBroadcast:
      return 0;
    case Kind::kSplit:
      return is_split(to) ? bytes * others / static_cast<double>(devices) : bytes * others;
    default:
      return is_split(to) ? bytes * others : 2 * bytes * others;
  }
}

std::optional<Choice> choose(const Placement& placement, const std::vector<Signature>& signatures,
                             std::span<const Operand> inputs, std::span<const Dims> outputs,
                             const Demand& demand) {
  Choice choice{std::vector<NdSbp>(inputs.size()), std::vector<NdSbp>(outputs.size())};
  const Signature whole{std::vector<Sbp>(inputs.size()), std::vector<Sbp>(outputs.size())};
  for (int64_t axis = 0; axis < placement.axes(); axis++) {
    AxisChooser chooser(placement, axis, inputs, outputs, demand, choice);
    chooser.consider(whole);
    for (const Signature& signature : signatures) chooser.consider(signature);
    if (!chooser.found()) return std::nullopt;
    for (size_t i = 0; i < inputs.size(); i++) choice.inputs[i].push_back(chooser.inputs[i]);
    for (size_t i = 0; i < outputs.size(); i++) choice.outputs[i].push_back(chooser.outputs[i]);
  }
  return choice;
}

}  // namespace tw::sbp

#include "passes/sbp/candidates.h"

#include <algorithm>

#include "ir/attr_text.h"
#include "ir/layouts.h"

namespace tw::passes {

namespace {

using Layouts = std::vector<const sbp::Layout*>;

void append_raw(std::string& key, const auto& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// All that candidates depend on.
std::string key_of(const ir::Node& node, const sbp::PlacementRef& placement,
                   const std::vector<Layouts>& layouts) {
  std::string key;
  append_raw(key, node.def->id);
  append_raw(key, placement.get());
  for (const ir::Param& param : node.def->schema.params)
    if (param.kind == ir::ParamKind::kAttr) {
      ir::print_attr(key, ir::read_attr(param.field, node.attrs.get()));
      key += ',';
    }
  std::vector<const ir::GraphValue*> tensors = ir::tensors_of(node);
  for (size_t i = 0; i < tensors.size(); i++) {
    append_raw(key, tensors[i] ? static_cast<int>(tensors[i]->dtype) : -1);
    if (tensors[i])
      for (int64_t size : tensors[i]->sizes) append_raw(key, size);
    for (const sbp::Layout* layout : layouts[i]) append_raw(key, layout);
    key += ';';
  }
  return key;
}

class Maker {
 public:
  Maker(const ir::Node& node, const sbp::PlacementRef& placement, const std::vector<Layouts>& layouts,
        const machine::Machine& machine)
      : node_(node),
        placement_(placement),
        layouts_(layouts),
        machine_(machine),
        tensors_(ir::tensors_of(node)),
        sizes_(ir::sizes_of(tensors_)),
        base_(ir::signatures_of(node)) {}

  std::vector<Candidate> run() {
    for (int64_t axis = 0; axis < placement_->axes(); axis++) axes_.push_back(on_axis(axis));
    std::vector<const sbp::Signature*> chosen(axes_.size());
    product(0, chosen);
    return std::move(result_);
  }

 private:
  // Extremes are pending only where an op has left them so: nobody boxes to them unless the result is to be
  // one.
  bool is_possible(const sbp::Signature& signature, int64_t axis) const {
    for (size_t i = node_.inputs.size(); i < layouts_.size(); i++)
      if (!layouts_[i].empty()) return true;
    for (size_t i = 0; i < node_.inputs.size(); i++) {
      const sbp::Sbp& wanted = signature.inputs[i];
      if (wanted.kind != sbp::Kind::kPartial || wanted.reduce == sbp::ReduceOp::kSum) continue;
      auto lies_so = [&](const sbp::Layout* one) {
        return one->placement == placement_ && one->sbp[axis] == wanted;
      };
      if (std::ranges::none_of(layouts_[i], lies_so)) return false;
    }
    return true;
  }

  // Signatures, and those cut as tensors may be.
  std::vector<sbp::Signature> on_axis(int64_t axis) const {
    std::vector<sbp::Signature> base;
    for (const sbp::Signature& signature : base_)
      if (is_possible(signature, axis)) base.push_back(signature);
    std::vector<sbp::Signature> all = base;
    for (const sbp::Signature& signature : base)
      for (size_t i = 0; i < tensors_.size(); i++) {
        const sbp::Sbp& lead = sbp::sbp_of(signature, i);
        if (lead.kind != sbp::Kind::kSplit) continue;
        for (const sbp::Layout* layout : layouts_[i]) {
          if (layout->placement != placement_) continue;
          auto cut = sbp::cut_like(signature, sizes_, i, *layout, static_cast<size_t>(axis));
          if (!cut) continue;
          auto is_cut = [&](const sbp::Signature& one) {
            return one.inputs == cut->inputs && one.outputs == cut->outputs;
          };
          if (std::ranges::none_of(all, is_cut)) all.push_back(std::move(*cut));
        }
      }
    return all;
  }

  void product(size_t axis, std::vector<const sbp::Signature*>& chosen) {
    if (axis == axes_.size()) return add(chosen);
    for (const sbp::Signature& signature : axes_[axis]) {
      chosen[axis] = &signature;
      product(axis + 1, chosen);
    }
  }

  void add(const std::vector<const sbp::Signature*>& chosen) {
    Candidate candidate;
    for (size_t i = 0; i < tensors_.size(); i++) {
      sbp::NdSbp sbp;
      for (const sbp::Signature* signature : chosen) sbp.push_back(sbp::sbp_of(*signature, i));
      candidate.layouts.push_back(tensors_[i] ? sbp::layout(placement_, sbp).get() : nullptr);
    }
    if (!fits(candidate)) return;
    candidate.seconds = seconds_of(candidate);
    result_.push_back(std::move(candidate));
  }

  // Stated sizes may not fit what earlier axes leave; outputs may have to lie in a given way.
  bool fits(const Candidate& candidate) const {
    for (size_t i = 0; i < tensors_.size(); i++) {
      if (!tensors_[i]) continue;
      try {
        sbp::check_layout(*candidate.layouts[i], sizes_[i], "");
      } catch (const Error&) {
        return false;
      }
      if (i < node_.inputs.size() || layouts_[i].empty()) continue;
      if (!sbp::same_parts(*candidate.layouts[i], *layouts_[i][0], sizes_[i])) return false;
    }
    return true;
  }

  // Of the device that has most to do.
  double seconds_of(const Candidate& candidate) const {
    double most = 0;
    for (int64_t position = 0; position < placement_->count(); position++)
      most = std::max(most, seconds_at(candidate, position));
    return most;
  }

  double seconds_at(const Candidate& candidate, int64_t position) const {
    ir::CostContext context;
    context.attributes = node_.attrs.get();
    size_t inputs = node_.inputs.size(), outputs = tensors_.size() - ir::mutated_inputs(node_).size();
    double held_bytes = 0, elements = 0;
    for (size_t i = 0; i < outputs; i++) {
      ir::Meta part;
      if (tensors_[i])
        part = {tensors_[i]->dtype, sbp::box_of(*candidate.layouts[i], sizes_[i], position).sizes};
      if (i >= inputs) {
        elements += static_cast<double>(numel(part.sizes));
        held_bytes += static_cast<double>(numel(part.sizes) * size_of(part.dtype));
      }
      (i < inputs ? context.inputs : context.outputs).push_back(std::move(part));
    }
    ir::Cost cost = node_.def->cost ? node_.def->cost(context) : ir::Cost{elements, context.bytes(), 0};
    if (node_.def->view) held_bytes = 0;
    double compute = cost.flops / machine_.flops_per_second;
    double memory = cost.bytes / machine_.memory_bytes_per_second;
    double held = held_bytes * machine_.held_byte_weight / machine_.memory_bytes_per_second;
    return std::max(compute, memory) + held;
  }

  const ir::Node& node_;
  const sbp::PlacementRef& placement_;
  const std::vector<Layouts>& layouts_;
  const machine::Machine& machine_;
  std::vector<const ir::GraphValue*> tensors_;
  std::vector<Dims> sizes_;
  std::vector<sbp::Signature> base_;
  std::vector<std::vector<sbp::Signature>> axes_;
  std::vector<Candidate> result_;
};

}  // namespace

const std::vector<Candidate>& CandidateMaker::candidates_of(const ir::Node& node,
                                                            const sbp::PlacementRef& placement,
                                                            const std::vector<Layouts>& layouts) {
  auto [at, fresh] = known_.try_emplace(key_of(node, placement, layouts));
  if (fresh) at->second = Maker(node, placement, layouts, machine_).run();
  TW_CHECK(!at->second.empty(), kPlacement, node.def->name(),
           ": no signature gives its results the layout that they are said to have");
  return at->second;
}

}  // namespace tw::passes

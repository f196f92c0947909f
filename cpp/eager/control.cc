#include "eager/control.h"

#include <algorithm>

#include "eager/modes.h"
#include "eager/region_tape.h"

namespace tw::eager {

using ir::Graph;
using ir::Value;

sbp::PlacementRef placement_of(const TensorImpl& tensor) {
  return tensor.global ? layout_of(tensor)->placement : nullptr;
}

void place_in_trace(Tracer& tracer, TensorImpl& tensor, const sbp::PlacementRef& placement) {
  if (placement) tracer.make_global(tensor, broadcast_on(placement), false);
}

sbp::PlacementRef common_placement(const char* op, const char* what, const Tensor& a,
                                   const ir::Value& value_of_a, const Tensor& b,
                                   const ir::Value& value_of_b) {
  const sbp::PlacementRef from = placement_of(*a), to = placement_of(*b);
  if (from == to) return from;
  auto made_from_nothing = [](const ir::Value& value) {
    const ir::Node* node = ir::graph_value(value).node;
    return node && node->inputs.empty();
  };
  if (!from && made_from_nothing(value_of_a)) return to;
  if (!to && made_from_nothing(value_of_b)) return from;
  TW_FAIL(kPlacement, op, ": ", what, " lies on one placement, or is local, but it is ", where_is(*a),
          " and ", where_is(*b), "; to_global() brings them together");
}

bool is_differentiable(DType dtype) { return is_float(dtype) || is_complex(dtype); }

void RegionStart::backward(std::vector<Tensor>&, std::vector<Tensor>&) {
  TW_FAIL(kRuntime, "backward: it reached the inside of a branch or a loop body from the outside");
}

void RegionStart::add(TensorImpl& input, bool wanted) {
  outputs.push_back({input.dtype, input.sizes});
  if (wanted && is_differentiable(input.dtype))
    set_history(input, Ref<Node>(this), static_cast<uint32_t>(outputs.size()) - 1);
}

RegionRecorder::RegionRecorder(Tracer& tracer, const std::string& name, uint64_t differentiates)
    : start(make_ref<RegionStart>()), tracer_(tracer) {
  tracer.begin_region(name, start->sequence, differentiates);
}

void RegionRecorder::drop() {
  if (!std::exchange(open_, false)) return;
  tracer_.drop_region();
  put_histories_back();
}

void RegionRecorder::insert_result(size_t at, const Tensor& outside) {
  results.insert(results.begin() + static_cast<int64_t>(at), outside);
  traced.results.insert(traced.results.begin() + static_cast<int64_t>(at), tracer_.value_of(*outside));
}

Tensor RegionRecorder::add_input(DType dtype, const Dims& sizes, bool wanted) {
  inputs.push_back(tracer_.add_region_input("", dtype, sizes));
  on_tape.push_back(wanted && modes().grad_enabled && is_differentiable(dtype));
  start->add(*inputs.back(), on_tape.back());
  return inputs.back();
}

Tensor RegionRecorder::add_input(DType dtype, const Dims& sizes, bool wanted,
                                 const sbp::PlacementRef& placement) {
  Tensor input = add_input(dtype, sizes, wanted);
  place_in_trace(tracer_, *input, placement);
  return input;
}

void RegionRecorder::carry_history(const Tensor& base) {
  carried_histories.push_back(base);
  histories_before_.push_back({base->grad_fn, base->output_nr});
  start->add(*base, true);
  base->storage->version++;  // so that views of it look for their tape anew
}

void RegionRecorder::put_histories_back() {
  for (size_t i = 0; i < histories_before_.size(); i++)
    set_history(*carried_histories[i], histories_before_[i].node, histories_before_[i].input_nr);
  histories_before_.clear();
}

std::vector<Tensor> RegionRecorder::finish(std::vector<Tensor> given) {
  results = std::move(given);
  for (const Tensor& result : results) grad_fn_of(*result);  // may record ops, which belong to the region
  traced = tracer_.end_region(results);
  open_ = false;
  put_histories_back();
  std::vector<Tensor> others;
  for (const TracedRegion::History& history : traced.histories)
    if (std::find(carried_histories.begin(), carried_histories.end(), history.base) ==
        carried_histories.end())
      others.push_back(history.base);
  return others;
}

RegionTape::RegionTape(RegionRecorder& recorder, const std::vector<Tensor>& written)
    : region(recorder.traced.id), start(recorder.start) {
  for (const Tensor& result : recorder.results)
    roots.push_back(is_differentiable(result->dtype) ? gradient_edge(*result) : Edge());
  for (const Tensor& base : written) {
    Edge root = gradient_edge(*base);  // where this region leaves it alone
    for (const TracedRegion::History& history : recorder.traced.histories)
      if (history.base == base) root = history.after;
    roots.push_back(std::move(root));
  }
  std::unordered_set<Node*> seen;
  for (const Edge& root : roots) visit(root, seen);
}

void RegionTape::visit(const Edge& root, std::unordered_set<Node*>& seen) {
  std::vector<Edge> stack = {root};
  while (!stack.empty()) {
    Edge edge = std::move(stack.back());
    stack.pop_back();
    if (!edge.node || edge.node.get() == start.get()) continue;
    if (edge.node->sequence < start->sequence) {
      if (!has_edge(ends, edge)) ends.push_back(edge);
    } else if (seen.insert(edge.node.get()).second) {
      for (const Edge& next : edge.node->edges) stack.push_back(next);
    }
  }
}

ir::Node& append_cond(Tracer& tracer, const Value& pred, const Captures& captures, std::unique_ptr<Graph> yes,
                      std::unique_ptr<Graph> no) {
  static const ir::OpDef& def = ir::registry().get("cond");
  ir::Values inputs = {pred};
  inputs.append(captures.values.begin(), captures.values.end());
  const int starts[] = {0, 1, static_cast<int>(inputs.size())};
  Graph& graph = tracer.innermost();
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(std::move(yes));
  regions.push_back(std::move(no));
  ir::Node& node =
      graph.append(def, {inputs.data(), inputs.size()}, starts, def.defaults(), std::move(regions));
  tracer.take_draws(node);
  return node;
}

ir::Node& append_loop(Tracer& tracer, const LoopInputs& loop, const Captures& captures,
                      std::unique_ptr<Graph> body) {
  static const ir::OpDef& def = ir::registry().get("loop");
  ir::Values inputs = {loop.pred, loop.trips};
  for (const auto* list : {&loop.carried, &loop.slices, &captures.values})
    inputs.append(list->begin(), list->end());
  auto starts = ir::loop_starts(static_cast<int>(loop.carried.size()), static_cast<int>(loop.slices.size()),
                                static_cast<int>(captures.values.size()));
  ir::AttrBox attrs(def.attr_type, def.defaults());
  ir::write_attr(def.schema.params[5].field, attrs.get(), loop.length, "loop", "length");
  ir::write_attr(def.schema.params[6].field, attrs.get(), loop.reverse, "loop", "reverse");
  ir::write_attr(def.schema.params[7].field, attrs.get(), loop.parts, "loop", "parts");
  Graph& graph = tracer.innermost();
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(std::move(body));
  ir::Node& node = graph.append(def, {inputs.data(), inputs.size()}, {starts.data(), starts.size()},
                                attrs.get(), std::move(regions));
  tracer.take_draws(node);
  return node;
}

Tracer& tracer_of_backward(const char* op) {
  TW_CHECK(modes().tracer, kRuntime, op, ": its backward belongs to the trace that it was recorded in");
  return *modes().tracer;
}

void want_no_writes(const TracedRegion& traced, const char* op) {
  TW_CHECK(traced.writes.empty(), kNotImplemented, op,
           ": its backward writes to a tensor of the outside, which a traced function cannot do");
}

ControlNode::ControlNode(Tracer& tracer, ir::Node& node, Ref<ControlNode> forward, uint64_t first_sequence)
    : node_(&node), forward_(std::move(forward)), first_sequence_(first_sequence) {
  tracer.remember_place(sequence);
}

bool ControlNode::holds(const Edge& edge) const {
  return edge.node->sequence >= first_sequence_ && edge.node->sequence < sequence;
}

Edge ControlNode::outer_edge(size_t region, const Edge& end) {
  if (!holds(end)) return forward_ ? forward_->outer_edge(region, end) : end;
  for (size_t i = 0; i < inner_edges_.size(); i++) {
    const auto& [known, edge] = inner_edges_[i];
    if (known == region && edge.node == end.node && edge.input_nr == end.input_nr)
      return {Ref<Node>(this), inner_outputs_[i]};
  }
  inner_edges_.emplace_back(region, end);
  inner_outputs_.push_back(static_cast<uint32_t>(outputs.size()));
  add_inner_output(region, end);
  return {Ref<Node>(this), inner_outputs_.back()};
}

void ControlNode::check_kept() const {
  TW_CHECK(
      node_, kRuntime, name(),
      ": backward has already run through this graph; pass retain_graph=True to the first backward to run "
      "it again");
  if (forward_) forward_->check_kept();
}

std::vector<ForwardRegion> ControlNode::forward_regions(size_t region) const {
  std::vector<ForwardRegion> regions;
  for (const ControlNode* at = this; at; at = at->forward_.get()) regions.emplace_back(*at->node_, region);
  return regions;
}

}  // namespace tw::eager

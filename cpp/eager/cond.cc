// A cond in a trace, and its backward: a cond of the gradients of its branches.
#include <algorithm>

#include "eager/control.h"
#include "eager/decision.h"
#include "eager/engine.h"
#include "eager/modes.h"
#include "eager/region_tape.h"

namespace tw::eager {

namespace {

using ir::Value;

// Results of a node that are on no tape yet.
std::vector<Tensor> result_tensors(Tracer& tracer, const ir::Node& node, size_t first, size_t count) {
  std::vector<Tensor> tensors;
  for (size_t i = first; i < first + count; i++) tensors.push_back(tracer.tensor_for(node.outputs[i]));
  return tensors;
}

class CondNode final : public ControlNode {
 public:
  // `made`: the results, and what is written to around it. `forward`: the node that this is the backward of.
  CondNode(Tracer& tracer, ir::Node& node, RegionTape yes, RegionTape no, const std::vector<Tensor>& made,
           Ref<ControlNode> forward = nullptr)
      : ControlNode(tracer, node, std::move(forward), yes.start->sequence),
        tapes_{std::move(yes), std::move(no)} {
    for (size_t branch = 0; branch < 2; branch++)
      for (const Edge& end : tapes_[branch].ends) add_edge(branch, end);
    for (const Tensor& tensor : made) outputs.push_back({tensor->dtype, tensor->sizes});
  }

  // The node on the tape for a cond in a graph; its results get their history. Gradients flow where there is
  // a root in a branch.
  static void record(Tracer& tracer, ir::Node& node, RegionTape yes, RegionTape no,
                     const std::vector<Tensor>& made, Ref<ControlNode> forward = nullptr) {
    std::vector<char> flows;
    for (size_t i = 0; i < made.size(); i++) flows.push_back(yes.roots[i].node || no.roots[i].node);
    Ref<Node> history(new CondNode(tracer, node, std::move(yes), std::move(no), made, std::move(forward)));
    for (size_t i = 0; i < made.size(); i++)
      if (flows[i]) set_history(*made[i], history, static_cast<uint32_t>(i));
  }

  void backward(std::vector<Tensor>& grads, std::vector<Tensor>& input_grads) override {
    check_kept();
    Tracer& tracer = tracer_of_backward("cond");
    grads.resize(outputs.size());
    Branch branches[2];
    for (size_t i = 0; i < 2; i++) record_branch(tracer, i, grads, &branches[i]);
    std::vector<size_t> found;  // edges that a gradient flows through, in either branch
    for (size_t e = 0; e < edges.size(); e++)
      if (branches[0].gradients[e] || branches[1].gradients[e]) found.push_back(e);
    if (found.empty()) return;
    for (Branch& branch : branches) branch.keep(found, edges);
    std::vector<sbp::PlacementRef> placements;
    for (size_t e : found)
      placements.push_back(branches[0].placements[e] ? branches[0].placements[e] : branches[1].placements[e]);

    Captures captures;
    std::vector<ForwardRegion> yes = forward_regions(0), no = forward_regions(1);
    RegionCloser closers[] = {{*branches[0].traced.graph, captures, yes},
                              {*branches[1].traced.graph, captures, no}};
    for (RegionCloser& closer : closers) closer.close();
    for (RegionCloser& closer : closers) closer.add_captures();
    ir::Node& node = append_cond(tracer, node_->inputs[0], captures, std::move(branches[0].traced.graph),
                                 std::move(branches[1].traced.graph));
    std::vector<Tensor> made = result_tensors(tracer, node, 0, found.size());
    for (size_t i = 0; i < found.size(); i++) place_in_trace(tracer, *made[i], placements[i]);
    if (modes().grad_enabled)
      record(tracer, node, std::move(*branches[0].tape), std::move(*branches[1].tape), made,
             Ref<ControlNode>(this));
    for (size_t i = 0; i < found.size(); i++) input_grads[found[i]] = made[i];
  }
  void release() override {
    node_ = nullptr;
    for (RegionTape& tape : tapes_) tape.roots.clear();
  }
  std::string name() const override { return "CondBackward"; }

 private:
  // The backward of a branch.
  struct Branch {
    TracedRegion traced;
    std::vector<Value> gradients;               // by edge; null where none flows
    std::vector<sbp::PlacementRef> placements;  // of them
    std::optional<RegionTape> tape;             // with a root for each gradient that flows

    // Makes gradients of `found` the region's outputs, zeros where the other branch alone has one.
    void keep(const std::vector<size_t>& found, std::span<const Edge> edges) {
      std::vector<Edge> roots;
      size_t next = 0;
      for (size_t e : found) {
        const ir::Meta& meta = meta_of(edges[e]);
        traced.graph->outputs.push_back(gradients[e] ? gradients[e]
                                                     : append_zeros(*traced.graph, meta.dtype, meta.sizes));
        roots.push_back(gradients[e] ? tape->roots[next++] : Edge());
      }
      tape->roots = std::move(roots);
    }
  };

  void record_branch(Tracer& tracer, size_t branch, const std::vector<Tensor>& grads, Branch* made) {
    const RegionTape& tape = tapes_[branch];
    RegionRecorder recorder(tracer, ir::region_names(*node_->def)[branch], tape.region);
    std::vector<Tensor> got = gradients_between(tape.roots, grads, ends_[branch], tape.first_sequence()),
                        some;
    for (const Tensor& grad : got)
      if (grad) some.push_back(grad);
    recorder.finish(std::move(some));
    made->tape.emplace(recorder, std::vector<Tensor>());
    made->traced = std::move(recorder.traced);
    want_no_writes(made->traced, "cond");
    size_t next = 0;
    for (const Tensor& grad : got) {
      made->gradients.push_back(grad ? made->traced.results[next++] : Value());
      made->placements.push_back(grad ? placement_of(*grad) : nullptr);
    }
  }

  // `end`: of a branch's tape.
  void add_edge(size_t branch, const Edge& end) {
    Edge outer = outer_edge(branch, end);
    size_t at = 0;
    while (at < edges.size() && (edges[at].node != outer.node || edges[at].input_nr != outer.input_nr)) at++;
    if (at == edges.size()) {
      edges.push_back(std::move(outer));
      for (auto& ends : ends_) ends.emplace_back();
    }
    ends_[branch][at] = end;
  }

  void add_inner_output(size_t branch, const Edge& edge) override {
    outputs.push_back(meta_of(edge));
    tapes_[branch].roots.push_back(edge);
    tapes_[1 - branch].roots.emplace_back();
  }

  RegionTape tapes_[2];
  std::vector<Edge> ends_[2];  // of the branches' tapes, by edge; null where a branch does not lead there
};

// What a branch leaves in the storages that either of them writes.
void add_writes(Tracer& tracer, const TracedRegion& own, const std::vector<Ref<Storage>>& storages) {
  for (const Ref<Storage>& storage : storages) {
    Value value;
    for (const TracedRegion::Write& write : own.writes)
      if (write.storage == storage) value = write.after;
    own.graph->outputs.push_back(value ? value : tracer.read_whole(storage));
  }
}

}  // namespace

std::vector<Tensor> finish_cond(Tracer& tracer, const Tensor& pred, RegionRecorder& yes, RegionRecorder& no) {
  Value condition = tracer.value_of(*pred);
  if (!pred->global)
    condition =
        decided(tracer, "cond", tracer.innermost(), condition, placement_of_regions(tracer, {&yes, &no}));
  std::vector<Ref<Storage>> storages;
  for (RegionRecorder* branch : {&yes, &no})
    for (const TracedRegion::Write& write : branch->traced.writes)
      if (std::find(storages.begin(), storages.end(), write.storage) == storages.end())
        storages.push_back(write.storage);
  std::vector<sbp::PlacementRef> placements;
  for (size_t i = 0; i < std::min(yes.results.size(), no.results.size()); i++)
    placements.push_back(common_placement("cond", "a result", yes.results[i], yes.traced.results[i],
                                          no.results[i], no.traced.results[i]));
  Captures captures;
  RegionRecorder* branches[] = {&yes, &no};
  for (RegionRecorder* branch : branches) {
    branch->traced.graph->outputs.assign(branch->traced.results.begin(), branch->traced.results.end());
    add_writes(tracer, branch->traced, storages);
  }
  RegionCloser closers[] = {{*yes.traced.graph, captures}, {*no.traced.graph, captures}};
  for (RegionCloser& closer : closers) closer.close();
  for (RegionCloser& closer : closers) closer.add_captures();
  std::vector<Tensor> written;  // with gradients
  for (RegionRecorder* branch : branches)
    for (const TracedRegion::History& history : branch->traced.histories)
      if (std::find(written.begin(), written.end(), history.base) == written.end())
        written.push_back(history.base);
  RegionTape yes_tape(yes, written), no_tape(no, written);
  ir::Node& node =
      append_cond(tracer, condition, captures, std::move(yes.traced.graph), std::move(no.traced.graph));
  size_t count = yes.results.size();
  std::vector<Tensor> results = result_tensors(tracer, node, 0, count);
  for (size_t i = 0; i < count; i++) place_in_trace(tracer, *results[i], placements[i]);
  for (size_t i = 0; i < storages.size(); i++) tracer.write_whole(storages[i], node.outputs[count + i]);
  if (!modes().grad_enabled || (yes_tape.ends.empty() && no_tape.ends.empty())) return results;
  std::vector<Tensor> made = results;
  made.insert(made.end(), written.begin(), written.end());
  CondNode::record(tracer, node, std::move(yes_tape), std::move(no_tape), made);
  return results;
}

}  // namespace tw::eager

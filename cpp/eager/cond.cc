// A cond in a trace, and its backward: a cond of the gradients of its branches.
#include <algorithm>

#include "eager/control.h"
#include "eager/engine.h"
#include "eager/modes.h"
#include "eager/region_tape.h"

namespace tw::eager {

namespace {

using ir::Value;

class CondNode final : public ControlNode {
 public:
  // `made`: the results, and what is written to around it.
  CondNode(Tracer& tracer, ir::Node& node, RegionTape yes, RegionTape no, const std::vector<Tensor>& made)
      : ControlNode(tracer, node), tapes_{std::move(yes), std::move(no)} {
    for (const RegionTape& tape : tapes_)
      for (const Edge& end : tape.ends)
        if (!has_edge(edges, end)) edges.push_back(end);
    for (const Tensor& tensor : made) outputs.push_back({tensor->dtype, tensor->sizes});
  }

  void backward(std::vector<Tensor>& grads, std::vector<Tensor>& input_grads) override {
    check_kept();
    Tracer& tracer = tracer_of_backward("cond");
    TracedRegion traced[2];
    std::vector<char> flows[2];
    for (size_t i = 0; i < 2; i++) record(tracer, i, grads, &traced[i], &flows[i]);
    std::vector<size_t> found;  // edges that a gradient flows through, in either branch
    std::vector<Value> values[2];
    size_t next[2] = {0, 0};
    for (size_t e = 0; e < edges.size(); e++) {
      if (!flows[0][e] && !flows[1][e]) continue;
      found.push_back(e);
      const ir::Meta& meta = meta_of(edges[e]);
      for (size_t i = 0; i < 2; i++)
        values[i].push_back(flows[i][e] ? traced[i].results[next[i]++]
                                        : append_zeros(*traced[i].graph, meta.dtype, meta.sizes));
    }
    if (found.empty()) return;
    Captures captures;
    ForwardRegion yes(*node_, 0), no(*node_, 1);
    for (size_t i = 0; i < 2; i++) traced[i].graph->outputs = values[i];
    RegionCloser closers[] = {{*traced[0].graph, captures, &yes}, {*traced[1].graph, captures, &no}};
    for (RegionCloser& closer : closers) closer.close();
    for (RegionCloser& closer : closers) closer.add_captures();
    ir::Node& node = append_cond(tracer, node_->inputs[0], captures, std::move(traced[0].graph),
                                 std::move(traced[1].graph));
    for (size_t i = 0; i < found.size(); i++) input_grads[found[i]] = tracer.tensor_for(node.outputs[i]);
  }
  void release() override {
    node_ = nullptr;
    for (RegionTape& tape : tapes_) tape.roots.clear();
  }
  std::string name() const override { return "CondBackward"; }

 private:
  void record(Tracer& tracer, size_t branch, const std::vector<Tensor>& grads, TracedRegion* traced,
              std::vector<char>* flows) {
    const RegionTape& tape = tapes_[branch];
    RegionRecorder recorder(tracer, ir::region_names(*node_->def)[branch], tape.region);
    std::vector<Edge> ends(edges.begin(), edges.end());
    std::vector<Tensor> got = gradients_between(tape.roots, grads, ends, tape.first_sequence()), some;
    for (const Tensor& grad : got) {
      flows->push_back(static_cast<bool>(grad));
      if (grad) some.push_back(grad);
    }
    recorder.finish(std::move(some));
    *traced = std::move(recorder.traced);
    want_no_writes(*traced, "cond");
  }

  RegionTape tapes_[2];
};

// Results of a node that are on no tape yet.
std::vector<Tensor> result_tensors(Tracer& tracer, const ir::Node& node, size_t first, size_t count) {
  std::vector<Tensor> tensors;
  for (size_t i = first; i < first + count; i++) tensors.push_back(tracer.tensor_for(node.outputs[i]));
  return tensors;
}

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
  std::vector<Ref<Storage>> storages;
  for (RegionRecorder* branch : {&yes, &no})
    for (const TracedRegion::Write& write : branch->traced.writes)
      if (std::find(storages.begin(), storages.end(), write.storage) == storages.end())
        storages.push_back(write.storage);
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
  for (size_t i = 0; i < storages.size(); i++) tracer.write_whole(storages[i], node.outputs[count + i]);
  if (!modes().grad_enabled || (yes_tape.ends.empty() && no_tape.ends.empty())) return results;
  std::vector<Tensor> made = results;
  made.insert(made.end(), written.begin(), written.end());
  std::vector<char> differentiable;
  for (size_t i = 0; i < made.size(); i++)
    differentiable.push_back(yes_tape.roots[i].node || no_tape.roots[i].node);
  Ref<Node> history(new CondNode(tracer, node, std::move(yes_tape), std::move(no_tape), made));
  for (size_t i = 0; i < made.size(); i++)
    if (differentiable[i]) set_history(*made[i], history, static_cast<uint32_t>(i));
  return results;
}

}  // namespace tw::eager

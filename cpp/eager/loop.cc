// A loop in a trace, and its backward: a loop that goes the other way through what the iterations have kept,
// and carries the gradients of what was carried and sums of those of what is around.
#include <algorithm>

#include "eager/control.h"
#include "eager/engine.h"
#include "eager/modes.h"
#include "eager/region_tape.h"
#include "ir/emitter.h"

namespace tw::eager {

namespace {

using ir::Graph;
using ir::Value;

class LoopNode final : public ControlNode {
 public:
  // `trips`: the output of the node that counts iterations; -1 where it runs its length.
  // `written`: tensors of the outside whose gradient goes through the loop; outputs behind the results.
  LoopNode(Tracer& tracer, ir::Node& node, RegionTape tape, const LoopParts& parts,
           const std::vector<Tensor>& written, std::vector<char> on_tape, int trips)
      : ControlNode(tracer, node),
        tape_(std::move(tape)),
        carried_(parts.carried.size()),
        slices_(parts.slices.size()),
        written_(written.size()),
        skipped_(parts.pred ? 1 : 0),
        on_tape_(std::move(on_tape)),
        trips_(trips) {
    for (const std::vector<Tensor>* tensors : {&parts.carried, &parts.slices, &written})
      for (const Tensor& tensor : *tensors)
        edges.push_back(is_differentiable(tensor->dtype) ? gradient_edge(*tensor) : Edge());
    for (const Edge& end : tape_.ends) edges.push_back(end);
  }

  void backward(std::vector<Tensor>& grads, std::vector<Tensor>& input_grads) override {
    check_kept();
    Tracer& tracer = tracer_of_backward("loop");
    const ir::LoopShape shape = ir::loop_shape(*node_);
    TW_CHECK(shape.length >= 0, kRuntime,
             "while_loop: its backward needs max_iterations (of a `while`, with tw.jit.max_iterations(n)): "
             "what each iteration leaves for it is kept in memory "
             "that is planned before the first");
    LoopInputs loop{nullptr,       trips_ < 0 ? Value() : Value(node_->outputs[trips_]), {}, {}, shape.length,
                    !shape.reverse};
    RegionRecorder body(tracer, "body", tape_.region);
    record(body, grads);
    want_no_writes(body.traced, "loop");
    for (const Input& input : inputs_of(grads)) {
      Value value = input.given ? tracer.value_of(*input.given)
                                : append_zeros(tracer.innermost(), input.meta.dtype, input.meta.sizes);
      (input.is_slice ? loop.slices : loop.carried).push_back(std::move(value));
    }
    Captures captures;
    ForwardRegion forward(*node_, 0);
    body.traced.graph->outputs.assign(body.traced.results.begin(), body.traced.results.end());
    RegionCloser closer(*body.traced.graph, captures, &forward);
    closer.close();
    closer.add_captures();
    loop.slices.insert(loop.slices.end(), closer.slices().begin(), closer.slices().end());
    ir::Node& node = append_loop(tracer, loop, captures, std::move(body.traced.graph));
    for (size_t i = 0; i < targets_.size(); i++)
      input_grads[targets_[i]] = tracer.tensor_for(node.outputs[i]);
  }
  void release() override {
    node_ = nullptr;
    tape_.roots.clear();
  }
  std::string name() const override { return "LoopBackward"; }

 private:
  // An input of the backward's body: the gradient of a carried value, a sum, or a part of a stacked gradient.
  struct Input {
    ir::Meta meta;
    Tensor given;  // what it begins with, or is a part of; null: zeros
    bool is_slice = false;
  };

  size_t stacked() const { return outputs.size() - carried_ - written_; }
  bool gets_part(size_t stacked, const std::vector<Tensor>& grads) const {
    return grads[carried_ + stacked] && tape_.roots[skipped_ + carried_ + stacked].node;
  }
  // The outputs that the loop carries, with their place among the inputs of its body.
  std::vector<std::pair<size_t, size_t>> carried_outputs() const {
    std::vector<std::pair<size_t, size_t>> places;
    for (size_t i = 0; i < carried_; i++)
      if (on_tape_[i]) places.emplace_back(i, i);
    for (size_t i = 0; i < written_; i++)
      places.emplace_back(carried_ + stacked() + i, carried_ + slices_ + i);
    return places;
  }

  std::vector<Input> inputs_of(const std::vector<Tensor>& grads) const {
    std::vector<Input> inputs;
    for (const auto& [output, place] : carried_outputs()) inputs.push_back({outputs[output], grads[output]});
    for (const Edge& end : tape_.ends) inputs.push_back({meta_of(end), nullptr});
    for (size_t i = 0; i < stacked(); i++) {
      if (!gets_part(i, grads)) continue;
      ir::Meta meta = outputs[carried_ + i];
      meta.sizes = Dims(meta.sizes.begin() + 1, meta.sizes.end());
      inputs.push_back({meta, grads[carried_ + i], true});
    }
    return inputs;
  }

  // One iteration backward. Its results are those of targets_, in order: carried gradients, sums, parts.
  void record(RegionRecorder& body, const std::vector<Tensor>& grads) {
    std::vector<Tensor> given, seeds(tape_.roots.size());
    for (const Input& input : inputs_of(grads))
      given.push_back(body.add_input(input.meta.dtype, input.meta.sizes));
    std::vector<Edge> ends;
    targets_.clear();
    size_t next = 0;
    for (const auto& [output, place] : carried_outputs()) {
      seeds[skipped_ + output] = given[next++];
      add_target(place, {Ref<Node>(tape_.start), static_cast<uint32_t>(place)}, &ends);
    }
    const size_t first_sum = next;
    for (size_t i = 0; i < tape_.ends.size(); i++, next++)
      add_target(carried_ + slices_ + written_ + i, tape_.ends[i], &ends);
    for (size_t i = 0; i < stacked(); i++)
      if (gets_part(i, grads)) seeds[skipped_ + carried_ + i] = given[next++];
    for (size_t i = carried_; i < carried_ + slices_; i++)
      if (edges[i].node && on_tape_[i])
        add_target(i, {Ref<Node>(tape_.start), static_cast<uint32_t>(i)}, &ends);

    std::vector<Tensor> got = gradients_between(tape_.roots, seeds, ends, tape_.first_sequence());
    for (size_t i = 0; i < got.size(); i++) {
      if (i >= first_sum && i < first_sum + tape_.ends.size()) {
        got[i] = got[i] ? as_tensor(Value(given[i]) + Value(got[i])) : given[i];
      } else if (!got[i]) {
        const ir::Meta& meta = meta_of(ends[i]);
        got[i] = as_tensor(ir::op<"full">(meta.sizes, 0, meta.dtype));
      }
    }
    body.finish(std::move(got));
  }

  void add_target(size_t input, Edge edge, std::vector<Edge>* ends) {
    targets_.push_back(input);
    ends->push_back(std::move(edge));
  }

  RegionTape tape_;
  size_t carried_, slices_, written_, skipped_;
  std::vector<char> on_tape_;  // by input of the body
  int trips_;
  std::vector<size_t> targets_;  // inputs of this node, by result of the backward's body
};

// i + 1, in a graph.
Value append_increment(Graph& graph, const Value& i) {
  static const ir::OpDef& full = ir::registry().get("full");
  static const ir::OpDef& add = ir::registry().get("add");
  ir::AttrBox attrs(full.attr_type, full.defaults());
  ir::write_attr(full.schema.params[1].field, attrs.get(), Scalar(1), "full", "fill_value");
  ir::write_attr(full.schema.params[2].field, attrs.get(), DType::kInt64, "full", "dtype");
  const Value operands[] = {i, graph.append(full, {}, {}, attrs.get()).outputs[0]};
  return graph.append(add, operands, {}, add.defaults()).outputs[0];
}

// The body of a loop while it becomes a region: what it writes around it, and a counter, are carried too.
class LoopBody {
 public:
  LoopBody(Tracer& tracer, const LoopParts& parts, RegionRecorder& body)
      : tracer_(tracer), graph_(*body.traced.graph), carried_(parts.carried.size()) {
    size_t skipped = parts.pred ? 1 : 0;
    const auto& results = body.traced.results;
    graph_.outputs.assign(results.begin(), results.begin() + static_cast<int64_t>(skipped + carried_));
    stacked_.assign(results.begin() + static_cast<int64_t>(skipped + carried_), results.end());
    loop.pred = parts.pred ? tracer.value_of(*parts.pred) : Value();
    for (const Tensor& tensor : parts.carried) loop.carried.push_back(tracer.value_of(*tensor));
    for (const Tensor& tensor : parts.slices) loop.slices.push_back(tracer.value_of(*tensor));
    loop.length = parts.length;
    loop.reverse = parts.reverse;
  }

  // Returns the input of the body that stands for it.
  Value carry(const Value& first, const Value& next) {
    ir::GraphRef input = ir::make_graph_value(first->dtype, first->sizes);
    graph_.inputs.insert(graph_.inputs.begin() + static_cast<int64_t>(loop.carried.size()), {"", input});
    loop.carried.push_back(first);
    graph_.outputs.push_back(next);
    return input;
  }
  // Returns the number of the output that counts.
  int count_trips() {
    Value input = carry(append_zeros(tracer_.innermost(), DType::kInt64, {}), nullptr);
    graph_.outputs.back() = append_increment(graph_, input);
    return static_cast<int>(loop.carried.size()) - 1;
  }

  void add_stacked() { graph_.outputs.insert(graph_.outputs.end(), stacked_.begin(), stacked_.end()); }
  size_t stacked() const { return stacked_.size(); }

  LoopInputs loop;

 private:
  Tracer& tracer_;
  Graph& graph_;
  size_t carried_;
  std::vector<Value> stacked_;
};

}  // namespace

std::vector<Tensor> finish_loop(Tracer& tracer, const LoopParts& parts, RegionRecorder& body) {
  const std::vector<Tensor>& written = body.carried_histories;
  RegionTape tape(body, written);
  LoopBody recorded(tracer, parts, body);
  std::vector<std::pair<Value, Value>> stand_ins;
  for (const TracedRegion::Write& write : body.traced.writes)
    stand_ins.emplace_back(write.before, recorded.carry(write.before, write.after));
  bool marked = std::find(body.on_tape.begin(), body.on_tape.end(), 1) != body.on_tape.end();
  bool on_tape = modes().grad_enabled && (!tape.ends.empty() || !written.empty() || marked);
  int trips = on_tape && parts.pred && parts.length >= 0 ? recorded.count_trips() : -1;
  recorded.add_stacked();
  Captures captures;
  RegionCloser closer(*body.traced.graph, captures);
  for (const auto& [value, input] : stand_ins) closer.stand_for(value, input);
  closer.close();
  closer.add_captures();
  ir::Node& node = append_loop(tracer, recorded.loop, captures, std::move(body.traced.graph));

  const size_t carried = parts.carried.size();
  std::vector<Tensor> results;
  for (size_t i = 0; i < node.outputs.size(); i++)
    if (i < carried || i >= node.outputs.size() - recorded.stacked())
      results.push_back(tracer.tensor_for(node.outputs[i]));
  for (size_t i = 0; i < body.traced.writes.size(); i++)
    tracer.write_whole(body.traced.writes[i].storage, node.outputs[carried + i]);
  if (!on_tape) return results;
  size_t skipped = parts.pred ? 1 : 0;
  std::vector<char> stacked_root;
  for (size_t i = skipped + carried; i < body.results.size(); i++)
    stacked_root.push_back(static_cast<bool>(tape.roots[i].node));
  Ref<LoopNode> history(new LoopNode(tracer, node, std::move(tape), parts, written, body.on_tape, trips));
  for (size_t i = 0; i < results.size(); i++) {
    history->outputs.push_back({results[i]->dtype, results[i]->sizes});
    bool flows = i < carried ? body.on_tape[i] != 0 : stacked_root[i - carried] != 0;
    if (flows) set_history(*results[i], Ref<Node>(history), static_cast<uint32_t>(i));
  }
  for (const Tensor& base : written) {
    history->outputs.push_back({base->dtype, base->sizes});
    set_history(*base, Ref<Node>(history), static_cast<uint32_t>(history->outputs.size()) - 1);
  }
  return results;
}

}  // namespace tw::eager

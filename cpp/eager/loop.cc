// A loop in a trace, and its backward: a loop that goes the other way through what the iterations have kept,
// and carries the gradients of what was carried and sums of those of what is around.
#include <algorithm>

#include "eager/control.h"
#include "eager/decision.h"
#include "eager/engine.h"
#include "eager/modes.h"
#include "eager/region_tape.h"
#include "ir/emitter.h"

namespace tw::eager {

namespace {

using ir::Graph;
using ir::Value;

// Outputs of a loop on the tape: what it carries, what it stacks, tensors of the outside that it writes with
// a gradient, and values of single iterations that a backward of it has read to be differentiated again.
class LoopNode final : public ControlNode {
 public:
  // `trips`: how often it ran; null where it runs its length. `written`: the tensors of the outside.
  // `forward`: the node that this is the backward of.
  LoopNode(Tracer& tracer, ir::Node& node, RegionTape tape, const LoopParts& parts,
           const std::vector<Tensor>& written, std::vector<char> on_tape, Value trips,
           Ref<ControlNode> forward = nullptr)
      : ControlNode(tracer, node, std::move(forward), tape.start->sequence),
        tape_(std::move(tape)),
        carried_(parts.carried.size()),
        slices_(parts.slices.size()),
        written_(written.size()),
        skipped_(parts.pred ? 1 : 0),
        on_tape_(std::move(on_tape)),
        trips_(std::move(trips)) {
    for (const std::vector<Tensor>* tensors : {&parts.carried, &parts.slices, &written})
      for (const Tensor& tensor : *tensors) {
        edges.push_back(is_differentiable(tensor->dtype) ? gradient_edge(*tensor) : Edge());
        placements_.push_back(placement_of(*tensor));
      }
    for (const Edge& end : tape_.ends) {
      const Edge outer = outer_edge(0, end);
      bool inner = outer.node != end.node || outer.input_nr != end.input_nr;
      (inner ? inner_ends_ : outer_ends_).push_back(end);
    }
    for (const std::vector<Edge>* ends : {&outer_ends_, &inner_ends_})
      for (const Edge& end : *ends) edges.push_back(outer_edge(0, end));
  }

  // Puts it on the tape: `results` are its carried and stacked outputs.
  static void record(Ref<LoopNode> node, const std::vector<Tensor>& results,
                     const std::vector<Tensor>& written) {
    for (const Tensor& result : results) node->outputs.push_back({result->dtype, result->sizes});
    for (const Tensor& base : written) node->outputs.push_back({base->dtype, base->sizes});
    for (size_t i = 0; i < results.size(); i++)
      if (i < node->carried_ ? node->on_tape_[i] != 0 : static_cast<bool>(node->root_of(i).node))
        set_history(*results[i], Ref<Node>(node), static_cast<uint32_t>(i));
    for (size_t i = 0; i < written.size(); i++)
      set_history(*written[i], Ref<Node>(node), static_cast<uint32_t>(results.size() + i));
    node->stacked_ = results.size() - node->carried_;
  }

  void backward(std::vector<Tensor>& grads, std::vector<Tensor>& input_grads) override {
    check_kept();
    Tracer& tracer = tracer_of_backward("loop");
    const ir::LoopShape shape = ir::loop_shape(*node_);
    TW_CHECK(shape.length >= 0, kRuntime,
             "while_loop: its backward needs max_iterations (of a `while`, with tw.jit.max_iterations(n)): "
             "what each iteration leaves for it is kept in memory "
             "that is planned before the first");
    grads.resize(outputs.size());
    RegionRecorder body(tracer, "body", tape_.region);
    record_body(body, grads);
    want_no_writes(body.traced, "loop");
    LoopParts parts{nullptr, {}, {}, shape.length, !shape.reverse};
    size_t number = 0;
    for (const Input& input : inputs_of(grads)) {
      Tensor first = input.given;
      if (!first) {
        first = tracer.tensor_for(append_zeros(tracer.innermost(), input.meta.dtype, input.meta.sizes));
        place_in_trace(tracer, *first, placement_of(*body.inputs[number]));
      }
      number++;
      (input.is_slice ? parts.slices : parts.carried).push_back(std::move(first));
    }
    LoopInputs loop{nullptr, trips_, {}, {}, parts.length, parts.reverse};
    for (const Tensor& tensor : parts.carried) loop.carried.push_back(tracer.value_of(*tensor));
    for (const Tensor& tensor : parts.slices) loop.slices.push_back(tracer.value_of(*tensor));
    Captures captures;
    std::vector<ForwardRegion> forward = forward_regions(0);
    body.traced.graph->outputs.assign(body.traced.results.begin(), body.traced.results.end());
    RegionCloser closer(*body.traced.graph, captures, forward);
    closer.close();
    closer.add_captures();
    loop.slices.insert(loop.slices.end(), closer.slices().begin(), closer.slices().end());
    ir::Node& node = append_loop(tracer, loop, captures, std::move(body.traced.graph));
    std::vector<Tensor> made;
    for (size_t i = 0; i < targets_.size(); i++) {
      made.push_back(tracer.tensor_for(node.outputs[i]));
      place_in_trace(tracer, *made.back(), placement_of(*body.results[i]));
      input_grads[targets_[i]] = made.back();
    }
    if (!modes().grad_enabled) return;
    Ref<LoopNode> history(new LoopNode(tracer, node, RegionTape(body, {}), parts, {}, body.on_tape, trips_,
                                       Ref<ControlNode>(this)));
    record(history, made, {});
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
    Tensor given;                 // what it begins with, or is a part of; null: zeros
    sbp::PlacementRef placement;  // of sums it is known when they are made
    bool is_slice = false;
  };

  const Edge& root_of(size_t output) const { return tape_.roots[skipped_ + output]; }
  // The outputs that hold a part for each iteration, and get a gradient.
  std::vector<size_t> part_outputs(const std::vector<Tensor>& grads) const {
    std::vector<size_t> found;
    for (size_t i = carried_; i < outputs.size(); i++) {
      bool carries = i >= carried_ + stacked_ && i < carried_ + stacked_ + written_;
      if (!carries && grads[i] && root_of(i).node) found.push_back(i);
    }
    return found;
  }
  // The outputs that the loop carries, with their place among the inputs of its body.
  std::vector<std::pair<size_t, size_t>> carried_outputs() const {
    std::vector<std::pair<size_t, size_t>> places;
    for (size_t i = 0; i < carried_; i++)
      if (on_tape_[i]) places.emplace_back(i, i);
    for (size_t i = 0; i < written_; i++)
      places.emplace_back(carried_ + stacked_ + i, carried_ + slices_ + i);
    return places;
  }

  std::vector<Input> inputs_of(const std::vector<Tensor>& grads) const {
    std::vector<Input> inputs;
    for (const auto& [output, place] : carried_outputs())
      inputs.push_back({outputs[output], grads[output],
                        grads[output] ? placement_of(*grads[output]) : placements_[place]});
    for (const Edge& end : outer_ends_) inputs.push_back({meta_of(end), nullptr, nullptr});
    for (size_t output : part_outputs(grads)) {
      ir::Meta meta = outputs[output];
      meta.sizes = Dims(meta.sizes.begin() + 1, meta.sizes.end());
      inputs.push_back({meta, grads[output], placement_of(*grads[output]), true});
    }
    return inputs;
  }

  // One iteration backward. Its results are those of targets_, in order: carried gradients, sums, parts.
  void record_body(RegionRecorder& body, const std::vector<Tensor>& grads) {
    std::vector<Tensor> given, seeds(tape_.roots.size());
    for (const Input& input : inputs_of(grads))
      given.push_back(body.add_input(input.meta.dtype, input.meta.sizes, true, input.placement));
    std::vector<Edge> ends;
    targets_.clear();
    size_t next = 0;
    for (const auto& [output, place] : carried_outputs()) {
      seeds[skipped_ + output] = given[next++];
      add_target(place, {Ref<Node>(tape_.start), static_cast<uint32_t>(place)}, &ends);
    }
    const size_t first_sum = next, first_end = carried_ + slices_ + written_;
    for (size_t i = 0; i < outer_ends_.size(); i++, next++) add_target(first_end + i, outer_ends_[i], &ends);
    for (size_t output : part_outputs(grads)) seeds[skipped_ + output] = given[next++];
    for (size_t i = carried_; i < carried_ + slices_; i++)
      if (edges[i].node && on_tape_[i])
        add_target(i, {Ref<Node>(tape_.start), static_cast<uint32_t>(i)}, &ends);
    for (size_t i = 0; i < inner_ends_.size(); i++)
      add_target(first_end + outer_ends_.size() + i, inner_ends_[i], &ends);

    std::vector<Tensor> got = gradients_between(tape_.roots, seeds, ends, tape_.first_sequence());
    for (size_t i = 0; i < got.size(); i++) {
      if (i >= first_sum && i < first_sum + outer_ends_.size()) {
        if (got[i]) place_in_trace(*modes().tracer, *given[i], placement_of(*got[i]));
        got[i] = got[i] ? as_tensor(Value(given[i]) + Value(got[i])) : given[i];
      } else if (!got[i]) {
        const ir::Meta& meta = meta_of(ends[i]);
        got[i] = as_tensor(ir::op<"full">(meta.sizes, 0, meta.dtype));
        if (targets_[i] < placements_.size())
          place_in_trace(*modes().tracer, *got[i], placements_[targets_[i]]);
      }
    }
    body.finish(std::move(got));
  }

  void add_target(size_t input, Edge edge, std::vector<Edge>* ends) {
    targets_.push_back(input);
    ends->push_back(std::move(edge));
  }

  void add_inner_output(size_t, const Edge& edge) override {
    ir::Meta meta = meta_of(edge);
    meta.sizes.insert(meta.sizes.begin(), ir::loop_shape(*node_).length);
    outputs.push_back(std::move(meta));
    tape_.roots.push_back(edge);
  }

  RegionTape tape_;
  size_t carried_, slices_, written_, skipped_, stacked_ = 0;
  std::vector<char> on_tape_;                  // by input of the body
  std::vector<sbp::PlacementRef> placements_;  // of what is carried, taken in parts, and written
  Value trips_;
  std::vector<Edge> outer_ends_;  // of the tape; their gradients are summed over the iterations
  std::vector<Edge>
      inner_ends_;  // in regions that this one is the backward of: a gradient from each iteration
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
    loop.parts = parts.parts;
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

// Of the results: what is carried lies where it has begun, whatever of it is made from nothing.
std::vector<sbp::PlacementRef> placements_of(Tracer& tracer, const LoopParts& parts,
                                             const RegionRecorder& body) {
  const size_t skipped = parts.pred ? 1 : 0;
  std::vector<sbp::PlacementRef> placements;
  for (size_t i = skipped; i < body.results.size(); i++) {
    const size_t number = i - skipped;
    placements.push_back(number < parts.carried.size()
                             ? common_placement("loop", "what is carried", body.inputs[number],
                                                tracer.value_of(*parts.carried[number]), body.results[i],
                                                body.traced.results[i])
                             : placement_of(*body.results[i]));
  }
  return placements;
}

}  // namespace

std::vector<Tensor> finish_loop(Tracer& tracer, const LoopParts& parts, RegionRecorder& body) {
  const std::vector<sbp::PlacementRef> placements = placements_of(tracer, parts, body);
  const std::vector<Tensor>& written = body.carried_histories;
  RegionTape tape(body, written);
  const sbp::PlacementRef where = parts.pred ? placement_of_regions(tracer, {&body}) : nullptr;
  if (parts.pred && !body.results[0]->global)
    body.traced.results[0] = decided(tracer, "loop", *body.traced.graph, body.traced.results[0], where);
  LoopBody recorded(tracer, parts, body);
  if (parts.pred && !parts.pred->global)
    recorded.loop.pred = decided(tracer, "loop", tracer.innermost(), recorded.loop.pred, where);
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
  for (size_t i = 0; i < results.size(); i++) place_in_trace(tracer, *results[i], placements[i]);
  for (size_t i = 0; i < body.traced.writes.size(); i++)
    tracer.write_whole(body.traced.writes[i].storage, node.outputs[carried + i]);
  if (!on_tape) return results;
  Ref<LoopNode> history(new LoopNode(tracer, node, std::move(tape), parts, written, body.on_tape,
                                     trips < 0 ? Value() : Value(node.outputs[trips])));
  LoopNode::record(history, results, written);
  return results;
}

}  // namespace tw::eager

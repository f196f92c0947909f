#include "eager/engine.h"

#include <algorithm>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "base/memory_order.h"

#include "eager/dispatch.h"
#include "eager/global.h"
#include "eager/modes.h"
#include "eager/op_node.h"
#include "eager/placing.h"
#include "eager/tracer.h"
#include "ir/emitter.h"

namespace tw::eager {

namespace {

// One backward run at a time in the process: nodes carry scratch fields of the run that visits them.
// Recursive, because a hook or a custom function may start a run of its own.
std::recursive_mutex g_engine;
uint64_t g_run = 0;
thread_local double t_gradient_scale = 1;

// The gradients that have arrived at a node.
struct Entry {
  Ref<Node> node;
  std::vector<Tensor> grads;
  uint64_t outer_run;  // scratch of the run that this one interrupts, to be put back
  int outer_slot;
};

// While it lives, what is traced is recorded under the module and the line of a node's forward, and after its
// gradient.
class PlaceOfForward {
 public:
  explicit PlaceOfForward(const Node& node) : tracer_(modes().tracer) {
    if (!tracer_) return;
    before_ = tracer_->enter_backward(node.sequence);
    outer_gradient_ = tracer_->gradient;
  }
  ~PlaceOfForward() {
    if (!tracer_) return;
    tracer_->leave_backward(before_);
    tracer_->gradient = std::move(outer_gradient_);
  }
  void set_gradient(const std::vector<Tensor>& grads) {
    if (!tracer_) return;
    auto first = std::find_if(grads.begin(), grads.end(), [](const Tensor& grad) { return grad; });
    tracer_->gradient = first == grads.end() ? nullptr : *first;
  }
  PlaceOfForward(const PlaceOfForward&) = delete;
  PlaceOfForward& operator=(const PlaceOfForward&) = delete;

 private:
  Tracer* tracer_;
  Tracer::Position before_;
  Tensor outer_gradient_;
};

// Tensors that a gradient makes from nothing lie where the gradients do.
const sbp::Layout* creation_for(const std::vector<Tensor>& grads) {
  if (globals_exist()) [[unlikely]]
    for (const Tensor& grad : grads)
      if (grad && grad->global) return broadcast_on(layout_of(*grad)->placement).get();
  return nullptr;
}

// A node asks this while it computes; a run inside of it may visit the same node.
struct Following {
  Following(Node& node, const std::unordered_set<Node*>* followed)
      : node(node), before(std::exchange(node.followed, followed)) {}
  ~Following() { node.followed = before; }
  Following(const Following&) = delete;
  Following& operator=(const Following&) = delete;

  Node& node;
  const std::unordered_set<Node*>* before;
};

class Run {
 public:
  explicit Run(BackwardOptions options, uint64_t first_sequence = 0)
      : options_(options), first_sequence_(first_sequence), id_(++g_run) {}
  ~Run() {
    for (Entry& entry : entries_) {
      entry.node->run = entry.outer_run;
      entry.node->slot = entry.outer_slot;
    }
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void capture(const std::vector<Edge>& ends, const std::vector<Edge>& roots);
  void send(const Edge& edge, Tensor grad);
  void execute();
  std::vector<Tensor> captured;

 private:
  Entry& entry_of(const Ref<Node>& node);
  void visit(Entry& entry);
  void watch(Entry& entry);
  void keep(const Entry& entry);
  void run_node(Node& node, std::vector<Tensor>& grads, std::vector<Tensor>& input_grads);
  bool add_to_part(Node& node, const std::vector<Tensor>& grads);
  bool may_overwrite(const Tensor& sum) const {
    return !options_.create_graph && is_unshared(*sum) &&
           (sum->contiguous || is_dense(sum->sizes, sum->strides));
  }
  void check_grads(const Node& node, const std::vector<Tensor>& grads);
  bool is_end(const Node& node) const { return node.sequence < first_sequence_; }
  bool wanted(Node* node) const { return targets_.empty() || useful_.count(node); }
  // Whether the run goes on from a node, rather than end at it.
  bool leads_on(const Node& node) const {
    return targets_.empty() || std::ranges::any_of(node.edges, [this](const Edge& edge) {
             return edge.node && useful_.count(edge.node.get());
           });
  }

  struct Target {
    Node* node;
    uint32_t input_nr;
    size_t input;
  };
  BackwardOptions options_;
  uint64_t first_sequence_;
  uint64_t id_;
  std::vector<Entry> entries_;
  std::vector<std::pair<uint64_t, int>> heap_;  // (sequence, entry)
  std::vector<Target> targets_;
  std::unordered_set<Node*> useful_;  // lead to a target
};

// Finds the nodes from which a target can be reached: depth first, iteratively (tapes are long).
void Run::capture(const std::vector<Edge>& wanted, const std::vector<Edge>& roots) {
  captured.resize(wanted.size());
  std::unordered_set<Node*> ends;
  for (size_t i = 0; i < wanted.size(); i++) {
    const Edge& edge = wanted[i];
    if (!edge.node) continue;
    targets_.push_back({edge.node.get(), edge.input_nr, i});
    ends.insert(edge.node.get());
  }
  if (targets_.empty()) return;
  std::unordered_set<Node*> seen;
  struct Frame {
    Node* node;
    size_t next;
  };
  for (const Edge& root : roots) {
    std::vector<Frame> stack;
    if (root.node && seen.insert(root.node.get()).second) stack.push_back({root.node.get(), 0});
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next < frame.node->edges.size() && !is_end(*frame.node)) {
        Node* child = frame.node->edges[frame.next++].node.get();
        if (child && seen.insert(child).second) stack.push_back({child, 0});
        continue;
      }
      bool useful = ends.count(frame.node);
      if (!is_end(*frame.node))
        for (const Edge& edge : frame.node->edges) useful |= edge.node && useful_.count(edge.node.get());
      if (useful) useful_.insert(frame.node);
      stack.pop_back();
    }
  }
}

Entry& Run::entry_of(const Ref<Node>& node) {
  if (node->run == id_) return entries_[node->slot];
  entries_.push_back(
      {node, std::vector<Tensor>(std::max<size_t>(node->outputs.size(), 1)), node->run, node->slot});
  node->run = id_;
  node->slot = static_cast<int>(entries_.size()) - 1;
  heap_.push_back({node->sequence, node->slot});
  std::push_heap(heap_.begin(), heap_.end());
  return entries_.back();
}

void Run::send(const Edge& edge, Tensor grad) {
  if (!edge.node || !grad || !wanted(edge.node.get())) return;
  Tensor& sum = entry_of(edge.node).grads[edge.input_nr];
  if (!sum) {
    sum = std::move(grad);
  } else if (may_overwrite(sum) && sum->dtype == grad->dtype && sum->sizes == grad->sizes) {
    add_inplace(*sum, grad);
  } else {
    sum = as_tensor(ir::Value(sum) + ir::Value(grad));
  }
}

void Run::check_grads(const Node& node, const std::vector<Tensor>& grads) {
  if (!modes().anomaly) return;
  for (size_t i = 0; i < grads.size(); i++) {
    if (!grads[i] || !is_float(grads[i]->dtype)) continue;
    ir::Value bad = ir::op<"any">(ir::op<"isnan">(ir::Value(grads[i])));
    TW_CHECK(!item(tensor_of(bad)).to_bool(), kRuntime, node.name(), ": backward returned nan in gradient ",
             i);
  }
}

// The gradients of this node's outputs are complete: run tensor hooks, keep retained and captured ones.
void Run::watch(Entry& entry) {
  for (auto& watch : entry.node->watches) {
    Tensor& grad = entry.grads[watch.output_nr];
    if (!grad) continue;
    if (watch.hooks) watch.hooks->on_grad(grad);
    if (watch.retain) watch.retain->grad = options_.create_graph ? grad : alias(*grad);
  }
  if (auto* end = dynamic_cast<AccumulateGrad*>(entry.node.get())) {
    TensorImpl* leaf = end->leaf();
    if (leaf && leaf->hooks && entry.grads[0]) leaf->hooks->on_grad(entry.grads[0]);
  }
  keep(entry);
}

void Run::keep(const Entry& entry) {
  for (const Target& target : targets_)
    if (target.node == entry.node.get()) captured[target.input] = entry.grads[target.input_nr];
}

void Run::run_node(Node& node, std::vector<Tensor>& grads, std::vector<Tensor>& input_grads) {
  try {
    CreationGuard creation(creation_for(grads));
    GradientPlace place(grads);
    Following following(node, targets_.empty() ? nullptr : &useful_);
    node.backward(grads, input_grads);
    check_grads(node, input_grads);
  } catch (const Error& error) {
    if (!node.origin) throw;
    throw Error(error.kind(), cat(error.what(), "\nthe forward op was called at\n", *node.origin));
  }
}

// The gradient of a slice goes into its part of a sum that is there, without the zeros around it. False where
// it has to take the usual way, because there is no such sum or because somebody looks at what the node
// returns.
bool Run::add_to_part(Node& node, const std::vector<Tensor>& grads) {
  auto* op = dynamic_cast<OpNode*>(&node);
  if (!op || !op->def().cuts || op->released() || (grads[0] && grads[0]->global) || node.hooks ||
      modes().anomaly || !grads[0])
    return false;
  const Edge& edge = node.edges[0];
  if (!edge.node || edge.node->run != id_) return false;
  const Tensor& sum = entries_[edge.node->slot].grads[edge.input_nr];
  if (!sum || !may_overwrite(sum) || sum->dtype != grads[0]->dtype) return false;
  Tensor part = alias(*sum, op->output_in(sum->geometry()));
  if (part->sizes != grads[0]->sizes) return false;
  add_inplace(*part, grads[0]);
  return true;
}

void Run::visit(Entry& entry) {
  Ref<Node> node = entry.node;
  PlaceOfForward module(*node);
  if (is_end(*node)) return keep(entry);
  watch(entry);
  bool leaf = node->sequence == 0;
  if (leaf ? !options_.accumulate : !leads_on(*node)) return;
  std::vector<Tensor> grads = std::move(entry.grads);
  if (node->hooks) node->hooks->before(grads);
  module.set_gradient(grads);
  std::vector<Tensor> kept = node->hooks ? grads : std::vector<Tensor>();
  std::vector<Tensor> input_grads(node->edges.size());
  if (!add_to_part(*node, grads)) run_node(*node, grads, input_grads);
  if (node->hooks) node->hooks->after(input_grads, kept);
  bool stays = options_.retain_graph || (modes().tracer && modes().tracer->is_around_region(node->sequence));
  if (!stays) node->release();
  for (size_t i = 0; i < input_grads.size(); i++) send(node->edges[i], std::move(input_grads[i]));
}

void Run::execute() {
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    int slot = heap_.back().second;
    heap_.pop_back();
    Entry entry{entries_[slot].node, std::move(entries_[slot].grads), 0, 0};
    visit(entry);
  }
}

Tensor seed_gradient(const Tensor& output, const Tensor& given, double scale) {
  CreationGuard creation(output->global ? broadcast_on(layout_of(*output)->placement).get() : nullptr);
  GradientPlace place({output});
  TW_CHECK(output->needs_grad(), kRuntime,
           "backward: the output does not require grad and was not computed from a tensor that does");
  if (given) {
    TW_CHECK(given->sizes == output->sizes, kRuntime, "backward: the gradient given has shape ", given->sizes,
             ", the output has shape ", output->sizes);
    ir::Value seed(given);
    if (given->dtype != output->dtype) seed = ir::op<"cast">(seed, output->dtype);
    if (scale != 1) seed = seed * ir::op<"full">(IntList(), scale, output->dtype);
    return as_tensor(seed);
  }
  TW_CHECK(output->count() == 1, kRuntime,
           "backward: without a gradient the output must have one element, got shape ", output->sizes);
  TW_CHECK(!is_complex(output->dtype), kRuntime, "backward: without a gradient the output must be real, got ",
           output->dtype);
  return as_tensor(
      ir::op<"full">(output->sizes, scale == 1 ? Scalar(int64_t{1}) : Scalar(scale), output->dtype));
}

}  // namespace

double set_gradient_scale(double scale) { return std::exchange(t_gradient_scale, scale); }

std::vector<Tensor> run_backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& grads,
                                 const std::vector<Tensor>& inputs, BackwardOptions options) {
  std::lock_guard lock(g_engine);
  GradModeGuard mode(options.create_graph);
  Run run(options);
  std::vector<Edge> roots;
  for (const Tensor& output : outputs) roots.push_back(gradient_edge(*output));
  if (!inputs.empty()) {
    for (const Tensor& input : inputs)
      TW_CHECK(input->needs_grad(), kRuntime, "grad: one of the inputs does not require grad");
    std::vector<Edge> ends;
    for (const Tensor& input : inputs) ends.push_back(gradient_edge(*input));
    run.capture(ends, roots);
  }
  for (size_t i = 0; i < outputs.size(); i++)
    run.send(roots[i], seed_gradient(outputs[i], i < grads.size() ? grads[i] : Tensor(),
                                     options.accumulate ? t_gradient_scale : 1));
  run.execute();
  if (!options.accumulate && !options.allow_unused)
    for (const Tensor& grad : run.captured)
      TW_CHECK(
          grad, kRuntime,
          "grad: one of the inputs was not used to compute the outputs; pass allow_unused=True to get None");
  return std::move(run.captured);
}

std::vector<Tensor> gradients_between(const std::vector<Edge>& roots, const std::vector<Tensor>& grads,
                                      const std::vector<Edge>& ends, uint64_t first_sequence) {
  std::lock_guard lock(g_engine);
  Run run({.retain_graph = true, .create_graph = modes().grad_enabled, .accumulate = false}, first_sequence);
  run.capture(ends, roots);
  for (size_t i = 0; i < roots.size(); i++) run.send(roots[i], grads[i]);
  run.execute();
  return std::move(run.captured);
}

}  // namespace tw::eager

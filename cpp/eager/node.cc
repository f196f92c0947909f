#include "eager/node.h"

#include <atomic>

#include "eager/dispatch.h"
#include "eager/global.h"
#include "eager/modes.h"
#include "eager/result_order.h"
#include "eager/tracer.h"
#include "eager/view_history.h"
#include "ir/emitter.h"

namespace tw::eager {

namespace {

std::atomic<uint64_t> g_sequence{1};

// A long tape is a long chain of owners: dropping its head must not recurse through it.
thread_local std::vector<Ref<Node>>* t_dropping = nullptr;

std::string (*g_origin_provider)() = nullptr;

}  // namespace

Node::Node() : sequence(g_sequence.fetch_add(1, std::memory_order_relaxed)) {}

Node::~Node() {
  bool outermost = !t_dropping;
  std::vector<Ref<Node>> pending;
  if (outermost) {
    bool deep = false;
    for (Edge& edge : edges) deep |= edge.node && edge.node->use_count() == 1 && edge.node->sequence != 0;
    if (!deep) return;
    t_dropping = &pending;
  }
  for (Edge& edge : edges)
    if (edge.node && edge.node->use_count() == 1) t_dropping->push_back(std::move(edge.node));
  if (!outermost) return;
  while (!pending.empty()) {
    Ref<Node> next = std::move(pending.back());
    pending.pop_back();
    next = nullptr;
  }
  t_dropping = nullptr;
}

namespace {

// The gradient of a global leaf lies as the leaf does, complete.
Tensor laid_as_leaf(const TensorImpl& leaf, const Tensor& grad) {
  TW_CHECK(leaf.global && grad->global && layout_of(leaf)->placement == layout_of(*grad)->placement,
           kPlacement, "backward: a leaf and its gradient must be on one placement, got a leaf ",
           where_is(leaf), " and a gradient ", where_is(*grad));
  return leaf.global->decided ? to_global(grad, without_partial(layout_of(leaf))) : grad;
}

}  // namespace

void AccumulateGrad::backward(std::vector<Tensor>& grads, std::vector<Tensor>&) {
  if (!leaf_ || !grads[0]) return;
  Tensor leaf(leaf_);
  if (leaf->global || grads[0]->global) [[unlikely]]
    grads[0] = laid_as_leaf(*leaf, grads[0]);
  if (Tracer* tracer = modes().tracer) tracer->touch_grad(*leaf, true);
  Tensor incoming = std::move(grads[0]);
  Tensor& sum = leaf->grad;
  bool differentiable = modes().grad_enabled;
  if (!sum) {
    // The gradient lies as its leaf does, so that whatever walks both walks them as one.
    bool unshared = is_unshared(*incoming);
    if (differentiable) {
      sum = copy_in_order_of(incoming, *leaf);
    } else {
      bool taken = unshared && lies_in_order_of(*incoming, *leaf);
      sum = taken ? std::move(incoming) : copy_in_order_of(alias(*incoming), *leaf);
    }
  } else if (differentiable) {
    sum = as_tensor(ir::Value(sum) + ir::Value(incoming));
  } else {
    add_inplace(*sum, incoming);
  }
  if (leaf->hooks) leaf->hooks->after_accumulate(*leaf);
}

void set_origin_provider(std::string (*provider)()) { g_origin_provider = provider; }

void remember_origin(Node& node) {
  if (Tracer* tracer = modes().tracer) tracer->remember_place(node.sequence);
  if (modes().anomaly && g_origin_provider) node.origin = std::make_unique<std::string>(g_origin_provider());
}

Edge gradient_edge(TensorImpl& tensor) {
  if (const Ref<Node>& node = grad_fn_of(tensor)) return {node, tensor.output_nr};
  if (!tensor.requires_grad) return {};
  if (!tensor.accumulator) {
    tensor.accumulator = make_ref<AccumulateGrad>(&tensor);
    tensor.accumulator->outputs.push_back({tensor.dtype, tensor.sizes});
  }
  return {Ref<Node>(tensor.accumulator), 0};
}

const Ref<Node>& grad_fn_of(TensorImpl& tensor) {
  if (tensor.view && tensor.view->version != tensor.storage->version) refresh_view_history(tensor);
  return tensor.grad_fn;
}

void set_history(TensorImpl& result, Ref<Node> node, uint32_t output_nr) {
  result.grad_fn = std::move(node);
  result.output_nr = output_nr;
}

}  // namespace tw::eager

// The tape: nodes that know how to push gradients back, and edges to the nodes that made their inputs.
//
// Edges always lead from a node to older ones (a smaller sequence number). The engine relies on it: taking
// nodes newest first visits each one after all that feed gradients to it.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>

#include "eager/tensor.h"
#include "ir/op_def.h"

namespace tw::eager {

struct Edge {
  Ref<Node> node;  // null: no gradient is wanted there
  uint32_t input_nr = 0;
};

// Python callbacks on a node (backward hooks of modules, register_hook on grad_fn); the binding implements
// it.
class NodeHooks {
 public:
  virtual ~NodeHooks() = default;
  virtual void before(std::vector<Tensor>& grads) = 0;
  virtual void after(std::vector<Tensor>& input_grads, const std::vector<Tensor>& grads) = 0;
};

class Node : public RefCounted {
 public:
  Node();
  ~Node() override;

  // Gradients of the outputs (null where none) → gradients of the inputs, one for each edge.
  virtual void backward(std::vector<Tensor>& grads, std::vector<Tensor>& input_grads) = 0;
  // Drops saved values; a later backward throws kRuntime.
  virtual void release() {}
  virtual std::string name() const = 0;

  uint64_t sequence;
  SmallVector<Edge, 2> edges;
  SmallVector<ir::Meta, 1> outputs;  // what the forward made, for checking and zero gradients
  // What happens when the gradient of an output is complete: hooks of the tensor, keeping it in .grad.
  struct Watch {
    uint32_t output_nr;
    std::shared_ptr<TensorHooks> hooks;
    TensorImpl* retain = nullptr;  // cleared by the tensor's destructor
  };
  std::vector<Watch> watches;
  std::unique_ptr<NodeHooks> hooks;
  std::unique_ptr<std::string> origin;  // where the forward was called, in anomaly mode
  void* python = nullptr;               // the Python object of this node while there is one (not owned)

  // Scratch of the engine run that is visiting this node.
  uint64_t run = 0;
  int slot = -1;
  const std::unordered_set<Node*>* followed = nullptr;  // where it goes on to; null: along every edge

  // Whether anybody wants the gradient of an input.
  bool needs(size_t edge) const {
    Node* to = edges[edge].node.get();
    return to && (!followed || followed->count(to));
  }
};

// The end of the tape at a leaf: adds into its .grad. Owned by the leaf; outlives it harmlessly.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(TensorImpl* leaf) : leaf_(leaf) { sequence = 0; }
  void backward(std::vector<Tensor>& grads, std::vector<Tensor>& input_grads) override;
  std::string name() const override { return "AccumulateGrad"; }
  void forget_leaf() { leaf_ = nullptr; }
  TensorImpl* leaf() const { return leaf_; }

 private:
  TensorImpl* leaf_;
};

// In anomaly mode a node remembers where its op was called; the binding supplies the text of the user's
// stack.
void set_origin_provider(std::string (*provider)());
void remember_origin(Node& node);

// The edge through which a gradient reaches `tensor`; its node is null when it needs none.
Edge gradient_edge(TensorImpl& tensor);
// Its up-to-date grad_fn, null for leaves.
const Ref<Node>& grad_fn_of(TensorImpl& tensor);
void set_history(TensorImpl& result, Ref<Node> node, uint32_t output_nr);

}  // namespace tw::eager

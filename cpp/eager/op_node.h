// The tape node of a registered op: runs the op's gradient rule on what it saved.
#pragma once

#include "eager/node.h"
#include "eager/saved.h"

namespace tw::eager {

class OpNode final : public Node, public FreeListed<OpNode> {
 public:
  OpNode(const ir::OpDef& def, const void* attrs) : def_(def), attrs_(def.attr_type, attrs) {}
  void backward(std::vector<Tensor>& grads, std::vector<Tensor>& input_grads) override;
  void release() override;
  std::string name() const override;
  const ir::OpDef& def() const { return def_; }
  bool released() const { return released_; }
  // Where the output of a view op lies in memory that is laid out like its input.
  ir::Geometry output_in(const ir::Geometry& input) const;

 private:
  friend class Recorder;
  friend class OpGradContext;
  const ir::OpDef& def_;
  ir::AttrBox attrs_;
  SmallVector<ir::Meta, 2> inputs_;
  SmallVector<SavedTensor, 2> saved_;  // in the order of def_.saved.items; lists flattened after one another
  SmallVector<int, 4> input_starts_;   // only for ops with lists
  bool released_ = false;
};

// Puts `def` on the tape when one of its inputs needs a gradient. Two steps, so that an in-place op can look
// at its inputs before it writes.
class Recorder {
 public:
  Recorder(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts);
  bool active() const { return active_; }
  // Keeps inputs and edges. `overwritten`: the input an in-place op is about to write, or -1.
  void before(const void* attrs, int overwritten = -1);
  // Keeps outputs and gives each its history; returns the node for in-place ops to rebase on.
  Ref<OpNode> after(std::span<const ir::Value> outputs, bool set_histories = true);

 private:
  const ir::OpDef& def_;
  std::span<const ir::Value> inputs_;
  std::span<const int> starts_;
  bool active_ = false;
  Ref<OpNode> node_;
};

}  // namespace tw::eager

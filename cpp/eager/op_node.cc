#include "eager/op_node.h"

#include "eager/modes.h"
#include "ir/emitter.h"

namespace tw::eager {

// The gradient rule's window on a node.
class OpGradContext final : public ir::GradContext {
 public:
  OpGradContext(OpNode& node, std::vector<Tensor>& grads, std::vector<Tensor>& input_grads)
      : node_(node), input_grads_(input_grads) {
    for (Tensor& grad : grads) grads_.push_back(std::move(grad));
    attributes = node.attrs_.get();
  }

  const ir::Value& grad(int i) const override { return grads_[i]; }
  ir::Value grad_or_zeros(int i) const override {
    if (grads_[i]) return grads_[i];
    const ir::Meta& meta = node_.outputs[i];
    return ir::op<"full">(meta.sizes, 0, meta.dtype);
  }
  ir::Value input(int i) const override { return find(i, false); }
  ir::Value output(int i) const override { return find(i, true); }
  const ir::Meta& input_meta(int i) const override { return node_.inputs_[i]; }
  const ir::Meta& output_meta(int i) const override { return node_.outputs[i]; }
  int input_count() const override { return static_cast<int>(node_.inputs_.size()); }
  bool needs(int i) const override { return node_.needs(i); }

  void set(int i, ir::Value gradient) override {
    if (!gradient || !needs(i)) return;
    const ir::Meta& meta = node_.inputs_[i];
    if (gradient->sizes != meta.sizes) gradient = ir::op<"sum_to_size">(gradient, meta.sizes);
    if (is_complex(gradient->dtype) && !is_complex(meta.dtype)) gradient = ir::op<"real">(gradient);
    if (gradient->dtype != meta.dtype) gradient = ir::op<"cast">(gradient, meta.dtype);
    input_grads_[i] = as_tensor(gradient);
  }

 private:
  ir::Value find(int index, bool output) const {
    // Saved lists take several slots, so walk the items.
    size_t slot = 0;
    for (const auto& item : node_.def_.saved.items) {
      int first = item.index, count = 1;
      if (!item.output && !node_.input_starts_.empty()) {
        first = node_.input_starts_[item.index];
        count = node_.input_starts_[item.index + 1] - first;
      }
      if (item.output == output && index >= first && index < first + count) {
        Ref<Node> owner(output && modes().grad_enabled ? &node_ : nullptr);
        return node_.saved_[slot + index - first].unpack(owner, node_.def_.name());
      }
      slot += count;
    }
    TW_FAIL(kInternal, node_.def_.name(), ": the gradient reads ", output ? "output " : "input ", index,
            ", which the op does not save");
  }

  OpNode& node_;
  ir::Values grads_;
  std::vector<Tensor>& input_grads_;
};

void OpNode::backward(std::vector<Tensor>& grads, std::vector<Tensor>& input_grads) {
  TW_CHECK(
      !released_, kRuntime, def_.name(),
      ": backward has already run through this graph and freed what it saved; pass retain_graph=True to the "
      "first backward to run it again");
  TW_CHECK(def_.grad, kRuntime, def_.name(), " has no gradient: ", def_.no_grad_reason);
  bool any = false;
  for (const Tensor& grad : grads) any |= static_cast<bool>(grad);
  if (!any) return;
  OpGradContext context(*this, grads, input_grads);
  def_.grad(context);
}

ir::Geometry OpNode::output_in(const ir::Geometry& input) const {
  ir::Geometry output;
  output.sizes = outputs[0].sizes;
  TW_CHECK(def_.view && def_.view(input, attrs_.get(), &output), kInternal, def_.name(), ": not a view");
  return output;
}

void OpNode::release() {
  for (SavedTensor& saved : saved_) saved.reset();
  released_ = true;
}

// MulBackward, LayerNormBackward: the names users know from PyTorch.
std::string OpNode::name() const {
  std::string result;
  bool upper = true;
  for (char c : def_.schema.name) {
    if (c == '_') {
      upper = true;
    } else {
      result += upper ? static_cast<char>(toupper(c)) : c;
      upper = false;
    }
  }
  return result + "Backward";
}

Recorder::Recorder(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts)
    : def_(def), inputs_(inputs), starts_(starts) {
  if (!modes().grad_enabled || (!def.grad && def.no_grad_reason.empty())) return;
  for (const ir::Value& input : inputs)
    if (input && tensor_of(input).needs_grad()) {
      active_ = def.grad || (is_float(input->dtype) || is_complex(input->dtype));
      break;
    }
  // An op that says it has no gradient cuts the tape.
  if (!def.grad) active_ = false;
}

void Recorder::before(const void* attrs, int overwritten) {
  // Views that are out of date get their new nodes now: a node's edges lead to older ones.
  for (const ir::Value& input : inputs_)
    if (input) grad_fn_of(tensor_of(input));
  node_ = Ref<OpNode>(new OpNode(def_, attrs));
  OpNode& node = *node_;
  remember_origin(node);
  for (const ir::Value& input : inputs_) {
    if (!input) {
      node.edges.emplace_back();
      node.inputs_.emplace_back();
      continue;
    }
    TensorImpl& tensor = tensor_of(input);
    bool floating = is_float(tensor.dtype) || is_complex(tensor.dtype);
    node.edges.push_back(floating ? gradient_edge(tensor) : Edge());
    node.inputs_.push_back({tensor.dtype, tensor.sizes});
  }
  if (!starts_.empty()) node.input_starts_.append(starts_.begin(), starts_.end());
  for (const auto& item : def_.saved.items) {
    if (item.output) {
      node.saved_.emplace_back();
      continue;
    }
    int first = item.index, last = item.index + 1;
    if (!starts_.empty()) first = starts_[item.index], last = starts_[item.index + 1];
    bool wanted = item.only_if < 0 || node.edges[starts_.empty() ? item.only_if : starts_[item.only_if]].node;
    for (int i = first; i < last; i++) {
      if (!wanted || !inputs_[i]) {
        node.saved_.emplace_back();
      } else if (i == overwritten) {
        GradModeGuard off(false);
        node.saved_.emplace_back(as_tensor(ir::op<"clone">(inputs_[i])), false);
      } else {
        node.saved_.emplace_back(as_tensor(inputs_[i]), false);
      }
    }
  }
}

Ref<OpNode> Recorder::after(std::span<const ir::Value> outputs, bool set_histories) {
  OpNode& node = *node_;
  for (size_t i = 0; i < outputs.size(); i++) {
    TensorImpl& tensor = tensor_of(outputs[i]);
    node.outputs.push_back({tensor.dtype, tensor.sizes});
    bool floating = is_float(tensor.dtype) || is_complex(tensor.dtype);
    if (set_histories && floating) set_history(tensor, Ref<Node>(node_), static_cast<uint32_t>(i));
  }
  size_t slot = 0;
  for (const auto& item : def_.saved.items) {
    size_t count = 1;
    if (item.output) {
      tensor_of(outputs[item.index]).output_nr = static_cast<uint32_t>(item.index);
      node.saved_[slot] = SavedTensor(as_tensor(outputs[item.index]), true);
    } else if (!starts_.empty()) {
      count = starts_[item.index + 1] - starts_[item.index];
    }
    slot += count;
  }
  return std::move(node_);
}

}  // namespace tw::eager

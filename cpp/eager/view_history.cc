#include "eager/view_history.h"

#include "eager/dispatch.h"
#include "eager/modes.h"
#include "ir/emitter.h"

namespace tw::eager {

namespace {

// Elements from the first to the last that a geometry reaches.
int64_t extent(const ir::Geometry& geometry) {
  int64_t last = 0;
  for (size_t i = 0; i < geometry.sizes.size(); i++) last += (geometry.sizes[i] - 1) * geometry.strides[i];
  return numel(geometry.sizes) == 0 ? 0 : last + 1;
}

// Gradient of "write op(window of base) into the window": edges[0] is the base before, the rest are the op's
// other inputs.
class CopySlices final : public Node {
 public:
  CopySlices(TensorImpl& base, const TensorImpl& view, Ref<Node> op) : op_(std::move(op)) {
    base_ = base.geometry();
    window_ = view.geometry();
    window_.offset -= base_.offset;
    edges.push_back(gradient_edge(base));
    for (size_t i = 1; i < op_->edges.size(); i++) edges.push_back(op_->edges[i]);
    outputs.push_back({base.dtype, base.sizes});
  }

  void backward(std::vector<Tensor>& grads, std::vector<Tensor>& input_grads) override {
    if (!grads[0]) return;
    // The gradient of the base, laid out as its memory is.
    const bool row_major = is_contiguous(base_.sizes, base_.strides);
    ir::Value memory = row_major ? ir::op<"row_major">(ir::Value(grads[0]))
                                 : ir::op<"as_strided_scatter">(ir::Value(grads[0]), IntList{extent(base_)},
                                                                base_.sizes, base_.strides, 0);
    ir::Value window = ir::op<"as_strided">(memory, window_.sizes, window_.strides, window_.offset);
    std::vector<Tensor> op_grads = {as_tensor(ir::op<"clone">(window))};
    std::vector<Tensor> op_input_grads(op_->edges.size());
    // The op's own self edge counts as wanted wherever the base's gradient is.
    op_->backward(op_grads, op_input_grads);
    ir::Value inside =
        op_input_grads[0] ? ir::Value(op_input_grads[0]) : ir::op<"full">(window_.sizes, 0, memory->dtype);
    const ir::OpDef& copy = ir::registry().get("copy");
    const ir::Value copy_inputs[] = {window, inside};
    dispatch_inplace(copy, copy_inputs, {}, nullptr);
    input_grads[0] =
        as_tensor(row_major ? memory : ir::op<"as_strided">(memory, base_.sizes, base_.strides, 0));
    for (size_t i = 1; i < edges.size(); i++) input_grads[i] = std::move(op_input_grads[i]);
  }
  void release() override { op_->release(); }
  std::string name() const override { return "CopySlices"; }

 private:
  ir::Geometry base_, window_;
  Ref<Node> op_;
};

}  // namespace

void set_view(TensorImpl& result, const Tensor& source) {
  result.view = std::make_unique<ViewInfo>();
  result.view->base = source->view ? source->view->base : source;
  result.view->version = result.storage->version;
  result.view->made_without_grad = !modes().grad_enabled && !modes().inference;
}

void refresh_view_history(TensorImpl& tensor) {
  ViewInfo& view = *tensor.view;
  view.version = tensor.storage->version;
  if (tensor.requires_grad || !view.base->needs_grad() ||
      !(is_float(tensor.dtype) || is_complex(tensor.dtype)))
    return;
  if (tensor.dtype != view.base->dtype) return;  // a reinterpreting view carries no gradient
  GradModeGuard on(true);
  const TensorImpl& base = *view.base;
  ir::Value window = ir::op<"as_strided">(ir::Value(view.base), tensor.sizes, tensor.strides, tensor.offset,
                                          base.strides, base.offset);
  set_history(tensor, tensor_of(window).grad_fn, tensor_of(window).output_nr);
}

void check_inplace_allowed(TensorImpl& self, const char* op) {
  if (!modes().grad_enabled) return;
  TW_CHECK(!(self.requires_grad && self.is_leaf()), kRuntime, op,
           ": a leaf tensor that requires grad cannot be changed in place; do it under no_grad()");
  if (!self.view) return;
  const TensorImpl& base = *self.view->base;
  TW_CHECK(!(base.requires_grad && base.is_leaf()), kRuntime, op,
           ": a view of a leaf tensor that requires grad cannot be changed in place; do it under no_grad()");
  if (!base.needs_grad() && !self.needs_grad()) return;
  TW_CHECK(!self.view->made_without_grad, kRuntime, op,
           ": a view made under no_grad() cannot be changed in place with grad mode on");
}

void rebase_history(TensorImpl& self, Ref<Node> node) {
  if (!self.view) {
    set_history(self, std::move(node), 0);
    return;
  }
  TensorImpl& base = *self.view->base;
  // The op's gradient for self is always wanted inside the window, even where the view was off the tape.
  if (!node->edges[0].node) node->edges[0] = gradient_edge(base);
  set_history(base, Ref<Node>(new CopySlices(base, self, std::move(node))), 0);
  self.view->version = self.storage->version;
  refresh_view_history(self);
}

}  // namespace tw::eager

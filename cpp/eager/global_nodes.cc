// The recorded ways between local and global tensors. Gradients are written with the same functions, so they
// serve any order.
#include <algorithm>

#include "eager/global.h"
#include "eager/global_boxing.h"
#include "eager/global_trace.h"
#include "eager/modes.h"
#include "eager/node.h"
#include "eager/placing.h"
#include "ir/emitter.h"

namespace tw::eager {

namespace {

bool floating(const TensorImpl& tensor) { return is_float(tensor.dtype) || is_complex(tensor.dtype); }

bool recorded(const TensorImpl& tensor) {
  return modes().grad_enabled && tensor.needs_grad() && floating(tensor);
}

// Global to global: the identity. Without a layout, the gradient goes on as it lies.
class BoxNode final : public Node {
 public:
  explicit BoxNode(sbp::LayoutRef grad) : grad_(std::move(grad)) {}
  void backward(std::vector<Tensor>& grads, std::vector<Tensor>& input_grads) override {
    if (grads[0]) input_grads[0] = grad_ ? to_global(grads[0], grad_) : grads[0];
  }
  std::string name() const override { return "ToGlobalBackward"; }

 private:
  sbp::LayoutRef grad_;
};

// Local parts to global.
class FromPartsNode final : public Node {
 public:
  explicit FromPartsNode(sbp::LayoutRef grad) : grad_(std::move(grad)) {}
  void backward(std::vector<Tensor>& grads, std::vector<Tensor>& input_grads) override {
    if (!grads[0]) return;
    std::vector<Tensor> parts = to_parts(to_global(grads[0], grad_));
    for (size_t k = 0; k < parts.size(); k++)
      if (edges[k].node) input_grads[k] = parts[k];
  }
  std::string name() const override { return "LocalToGlobalBackward"; }

 private:
  sbp::LayoutRef grad_;
};

// A local tensor that is the whole, to global.
class FromWholeNode final : public Node {
 public:
  explicit FromWholeNode(device::Device whole) : whole_(whole) {}
  void backward(std::vector<Tensor>& grads, std::vector<Tensor>& input_grads) override {
    if (!grads[0]) return;
    sbp::LayoutRef everywhere = broadcast_on(layout_of(*grads[0])->placement);
    input_grads[0] = to_device(to_parts(to_global(grads[0], everywhere))[0], whole_);
  }
  std::string name() const override { return "LocalToGlobalBackward"; }

 private:
  device::Device whole_;
};

// Global to its local parts, one output each.
class ToPartsNode final : public Node {
 public:
  ToPartsNode(const TensorImpl& tensor) : sizes_(tensor.sizes), grad_(gradient_of_parts(layout_of(tensor))) {}
  void backward(std::vector<Tensor>& grads, std::vector<Tensor>& input_grads) override {
    CreationGuard local(nullptr);
    for (size_t k = 0; k < grads.size(); k++)
      if (!grads[k]) grads[k] = as_tensor(ir::op<"full">(outputs[k].sizes, 0, outputs[k].dtype));
    input_grads[0] = parts_to_global(grads, sizes_, grad_);
  }
  std::string name() const override { return "ToLocalBackward"; }

 private:
  Dims sizes_;
  sbp::LayoutRef grad_;
};

void record(Tensor& result, Ref<Node> node, const Tensor& input) {
  node->edges.push_back(gradient_edge(*input));
  node->outputs.push_back({result->dtype, result->sizes});
  remember_origin(*node);
  set_history(*result, std::move(node), 0);
}

}  // namespace

Tensor to_global(const Tensor& tensor, const sbp::LayoutRef& to, const sbp::LayoutRef& grad) {
  if (layout_of(*tensor) == to && tensor->global->decided && !grad) return tensor;
  Tracer* tracer = modes().tracer;
  Tensor result = tracer ? box_in_trace(*tracer, tensor, to) : box(*tensor, to);
  if (recorded(*tensor))
    record(result, make_ref<BoxNode>(grad ? grad : gradient_in_trace(*tensor, to)), tensor);
  return result;
}

Tensor parts_to_global(const std::vector<Tensor>& given, const Dims& sizes, const sbp::LayoutRef& to,
                       const sbp::LayoutRef& grad) {
  TW_CHECK(!given.empty(), kPlacement, "to_global: this process has no rank of ", *to->placement);
  const Addressable& here = addressable(*to->placement);
  std::vector<Tensor> parts = given;
  for (size_t k = 0; k < std::min(parts.size(), here.devices.size()); k++)
    parts[k] = to_device(parts[k], here.devices[k]);
  Tensor result;
  if (Tracer* tracer = modes().tracer) {
    result = join_parts_in_trace(*tracer, parts, sizes, to);
  } else {
    std::vector<Tensor> shards;
    for (const Tensor& part : parts) shards.push_back(alias(*part));
    result = make_global(sizes, parts[0]->dtype, to, std::move(shards));
  }
  bool any = false;
  for (const Tensor& part : parts) any |= recorded(*part);
  if (!any) return result;
  Ref<Node> node = make_ref<FromPartsNode>(grad ? grad : without_partial(to));
  for (const Tensor& part : parts) node->edges.push_back(gradient_edge(*part));
  node->outputs.push_back({result->dtype, result->sizes});
  remember_origin(*node);
  set_history(*result, std::move(node), 0);
  return result;
}

Tensor whole_to_global(const Tensor& whole, const sbp::LayoutRef& to, const sbp::LayoutRef& grad) {
  check_layout(*to, whole->sizes, "to_global");
  Tracer* tracer = modes().tracer;
  Tensor result = tracer ? spread_in_trace(*tracer, whole, to)
                         : wrap_shards(whole->sizes, whole->dtype, to, lay_out(whole, to));
  if (recorded(*whole)) {
    record(result, make_ref<FromWholeNode>(whole->device()), whole);
    if (grad) return to_global(result, to, grad);
  }
  return result;
}

std::vector<Tensor> to_parts(const Tensor& tensor) {
  std::vector<Tensor> parts;
  if (Tracer* tracer = modes().tracer)
    parts = take_parts_in_trace(*tracer, tensor);
  else
    for (const Tensor& shard : tensor->global->shards) parts.push_back(alias(*shard));
  if (!recorded(*tensor) || parts.empty()) return parts;
  Ref<Node> node = make_ref<ToPartsNode>(*tensor);
  node->edges.push_back(gradient_edge(*tensor));
  remember_origin(*node);
  for (size_t k = 0; k < parts.size(); k++) {
    node->outputs.push_back({parts[k]->dtype, parts[k]->sizes});
    set_history(*parts[k], Ref<Node>(node), static_cast<uint32_t>(k));
  }
  return parts;
}

}  // namespace tw::eager

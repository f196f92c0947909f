// Modes, backward, hooks and the view of the tape that Python has.
#include <pybind11/stl.h>

#include <map>

#include "eager/dispatch.h"
#include "eager/engine.h"
#include "eager/global.h"
#include "eager/modes.h"
#include "eager/node.h"
#include "eager/op_node.h"
#include "eager/tracer.h"
#include "eager/view_history.h"
#include "native.h"
#include "native_node.h"

namespace tw::py {

namespace pb = pybind11;
using eager::Node;
using eager::Tensor;

namespace {

// Python callables on a tensor, run with the interpreter lock held (backward never lets it go around them).
class PythonTensorHooks final : public eager::TensorHooks {
 public:
  void on_grad(Tensor& grad) override {
    for (auto& [id, hook] : std::map<int, pb::object>(grad_hooks)) {
      pb::object result = hook(grad);
      if (!result.is_none()) grad = result.cast<Tensor>();
    }
  }
  void after_accumulate(eager::TensorImpl& leaf) override {
    for (auto& [id, hook] : std::map<int, pb::object>(accumulate_hooks)) hook(Tensor(&leaf));
  }
  std::map<int, pb::object> grad_hooks, accumulate_hooks;
  int next_id = 0;
};

class PythonNodeHooks final : public eager::NodeHooks {
 public:
  void before(std::vector<Tensor>& grads) override {
    for (auto& [id, hook] : std::map<int, pb::object>(pre_hooks))
      replace(grads, hook(pb::tuple(pb::cast(grads))));
  }
  void after(std::vector<Tensor>& input_grads, const std::vector<Tensor>& grads) override {
    for (auto& [id, hook] : std::map<int, pb::object>(post_hooks))
      replace(input_grads, hook(pb::tuple(pb::cast(input_grads)), pb::tuple(pb::cast(grads))));
  }
  std::map<int, pb::object> pre_hooks, post_hooks;
  int next_id = 0;

 private:
  static void replace(std::vector<Tensor>& grads, const pb::object& result) {
    if (result.is_none()) return;
    pb::sequence items =
        pb::isinstance<pb::sequence>(result) ? pb::sequence(result) : pb::sequence(pb::make_tuple(result));
    TW_CHECK(items.size() == grads.size(), kRuntime, "backward hook: ", grads.size(),
             " gradients are wanted, got ", items.size());
    for (size_t i = 0; i < grads.size(); i++) grads[i] = items[i].cast<Tensor>();
  }
};

PythonTensorHooks& hooks_of(eager::TensorImpl& tensor) {
  if (!tensor.hooks) {
    tensor.hooks = std::make_shared<PythonTensorHooks>();
    if (const Ref<Node>& node = eager::grad_fn_of(tensor))
      node->watches.push_back({tensor.output_nr, tensor.hooks});
  }
  return static_cast<PythonTensorHooks&>(*tensor.hooks);
}

PythonNodeHooks& hooks_of(Node& node) {
  if (!node.hooks) node.hooks = std::make_unique<PythonNodeHooks>();
  return static_cast<PythonNodeHooks&>(*node.hooks);
}

void retain_grad(const Tensor& tensor) {
  TW_CHECK(tensor->needs_grad(), kRuntime, "retain_grad: the tensor does not require grad");
  const Ref<Node>& node = eager::grad_fn_of(*tensor);
  if (!node || tensor->retains_grad) return;
  tensor->retains_grad = true;
  node->watches.push_back({tensor->output_nr, nullptr, tensor.get()});
}

std::vector<Tensor> backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& grads,
                             const std::vector<Tensor>& inputs, bool retain_graph, bool create_graph,
                             bool allow_unused, bool accumulate) {
  return eager::run_backward(outputs, grads, inputs, {retain_graph, create_graph, allow_unused, accumulate});
}

void set_grad(const Tensor& tensor, const Tensor& grad) {
  if (grad) {
    TW_CHECK(grad->sizes == tensor->sizes, kRuntime, "grad: a gradient of shape ", tensor->sizes,
             " is wanted, got ", grad->sizes);
    TW_CHECK(grad->dtype == tensor->dtype, kRuntime, "grad: a gradient of dtype ", tensor->dtype,
             " is wanted, got ", grad->dtype);
    bool together = !tensor->global == !grad->global &&
                    (!grad->global || layout_of(*tensor)->placement == layout_of(*grad)->placement);
    TW_CHECK(together, kPlacement, "grad: a gradient on the tensor's placement is wanted, the tensor is ",
             eager::where_is(*tensor), ", the gradient ", eager::where_is(*grad));
  }
  if (eager::Tracer* tracer = eager::modes().tracer) tracer->touch_grad(*tensor, false);
  tensor->grad = grad;
}

Tensor get_grad(const Tensor& tensor) {
  if (eager::Tracer* tracer = eager::modes().tracer) tracer->touch_grad(*tensor, true);
  return tensor->grad;
}

Tensor detach(const Tensor& tensor) {
  Tensor result = eager::alias(*tensor);
  return result;
}

void detach_inplace(const Tensor& tensor) {
  TW_CHECK(!tensor->view, kRuntime, "detach_: a view cannot be detached in place; use detach()");
  tensor->grad_fn = nullptr;
  tensor->requires_grad = false;
  tensor->output_nr = 0;
}

// t.data = other: takes over memory and geometry, keeps identity and tape.
void set_data(const Tensor& tensor, const Tensor& source) {
  tensor->storage = source->storage;
  tensor->dtype = source->dtype;
  eager::copy_global(*source, *tensor);
  tensor->set_geometry(source->geometry());
  if (tensor->accumulator) {
    tensor->accumulator->outputs.clear();
    tensor->accumulator->outputs.push_back({tensor->dtype, tensor->sizes});
  }
  tensor->view = nullptr;
}

// `tensor` takes the geometry and the history of a view of itself: what transpose_() and its kin do.
void adopt_view(const Tensor& tensor, const Tensor& view, const std::string& op) {
  bool same = tensor->storage == view->storage;
  TW_CHECK(same || !tensor->global, kRuntime, op, ": the parts of a tensor ", eager::where_is(*tensor),
           " cannot be seen so without a copy; use the form that returns a new tensor");
  TW_CHECK(same, kInternal, op, ": a view of the tensor itself is wanted");
  eager::check_inplace_allowed(*tensor, op.c_str());
  tensor->set_geometry(view->geometry());
  if (view->global) eager::copy_global(*view, *tensor);
  tensor->storage->version++;
  if (tensor->needs_grad() && eager::modes().grad_enabled)
    eager::set_history(*tensor, view->grad_fn, view->output_nr);
  if (tensor->view) tensor->view->version = tensor->storage->version;
}

// The user's stack, innermost call last, as tracebacks print it.
std::string python_stack() {
  pb::gil_scoped_acquire lock;
  pb::list lines = pb::module_::import("traceback").attr("format_stack")();
  return pb::str("").attr("join")(lines).cast<std::string>();
}

void bind_modes(pb::module_& m) {
  eager::set_origin_provider(python_stack);
  m.def("set_gradient_scale", &eager::set_gradient_scale);
  m.def("grad_enabled", [] { return eager::modes().grad_enabled; });
  m.def("set_grad_enabled", [](bool on) { eager::modes().grad_enabled = on; });
  m.def("inference_enabled", [] { return eager::modes().inference; });
  m.def("set_inference", [](bool on) { eager::modes().inference = on; });
  m.def("anomaly_enabled", [] { return eager::modes().anomaly; });
  m.def("set_anomaly", [](bool on) { eager::modes().anomaly = on; });
  m.def("autocast_enabled", [] { return eager::modes().autocast; });
  m.def("autocast_dtype", [] { return eager::modes().autocast_dtype; });
  m.def("set_autocast", [](bool on, DType dtype) {
    eager::modes().autocast = on;
    eager::modes().autocast_dtype = dtype;
  });
}

}  // namespace

void bind_autograd(pb::module_& m) {
  bind_modes(m);
  m.def("backward", backward, pb::arg("outputs"), pb::arg("grads"), pb::arg("inputs"),
        pb::arg("retain_graph"), pb::arg("create_graph"), pb::arg("allow_unused"), pb::arg("accumulate"));
  m.def("get_grad", get_grad);
  m.def("set_grad", set_grad);
  m.def("backward_has_run", [](const Tensor& tensor) {
    auto* node = dynamic_cast<eager::OpNode*>(eager::grad_fn_of(*tensor).get());
    return node && node->released();
  });
  m.def("detach", detach);
  m.def("detach_", detach_inplace);
  m.def("set_data", set_data);
  m.def("adopt_view", adopt_view);
  m.def("retain_grad", retain_grad);
  m.def("retains_grad", [](const Tensor& tensor) { return tensor->retains_grad; });
  m.def("is_view", [](const Tensor& tensor) { return tensor->view != nullptr; });
  m.def("view_base", [](const Tensor& tensor) { return tensor->view ? tensor->view->base : Tensor(); });
  m.def("add_grad_hook", [](const Tensor& tensor, pb::object hook) {
    PythonTensorHooks& hooks = hooks_of(*tensor);
    hooks.grad_hooks[hooks.next_id] = std::move(hook);
    return hooks.next_id++;
  });
  m.def("remove_grad_hook", [](const Tensor& tensor, int id) { hooks_of(*tensor).grad_hooks.erase(id); });
  m.def("add_accumulate_hook", [](const Tensor& tensor, pb::object hook) {
    TW_CHECK(tensor->is_leaf(), kRuntime, "register_post_accumulate_grad_hook: a leaf tensor is wanted");
    PythonTensorHooks& hooks = hooks_of(*tensor);
    hooks.accumulate_hooks[hooks.next_id] = std::move(hook);
    return hooks.next_id++;
  });
  m.def("remove_accumulate_hook",
        [](const Tensor& tensor, int id) { hooks_of(*tensor).accumulate_hooks.erase(id); });

  pb::class_<NodeHandle>(m, "Node", "A step of the tape, as grad_fn shows it.")
      .def(
          "name", [](const NodeHandle& h) { return h.node->name(); },
          "The name of the operation that was recorded.")
      .def("__repr__", [](const NodeHandle& h) { return cat("<", h.node->name(), ">"); })
      .def("__eq__", [](const NodeHandle& a, const NodeHandle& b) { return a.node == b.node; })
      .def("__hash__", [](const NodeHandle& h) { return reinterpret_cast<uintptr_t>(h.node.get()) >> 4; })
      .def_property_readonly(
          "next_functions",
          [](const NodeHandle& h) {
            pb::list result;
            for (const eager::Edge& edge : h.node->edges) {
              pb::object next = edge.node ? pb::cast(NodeHandle{edge.node}) : pb::none();
              result.append(pb::make_tuple(next, edge.input_nr));
            }
            return pb::tuple(result);
          },
          "The nodes that made the inputs, each with the number of its output.")
      .def_property_readonly(
          "variable",
          [](const NodeHandle& h) {
            auto* accumulate = dynamic_cast<eager::AccumulateGrad*>(h.node.get());
            if (!accumulate)
              throw pb::attribute_error(h.node->name() + " has no variable: AccumulateGrad has");
            return Tensor(accumulate->leaf());
          },
          "The leaf whose .grad an AccumulateGrad adds to; None once it is gone.")
      .def("_add_hook",
           [](const NodeHandle& h, pb::object hook, bool pre) {
             PythonNodeHooks& hooks = hooks_of(*h.node);
             (pre ? hooks.pre_hooks : hooks.post_hooks)[hooks.next_id] = std::move(hook);
             return hooks.next_id++;
           })
      .def("_remove_hook", [](const NodeHandle& h, int id) {
        hooks_of(*h.node).pre_hooks.erase(id);
        hooks_of(*h.node).post_hooks.erase(id);
      });
  m.def("grad_fn", [](const Tensor& tensor) -> pb::object {
    const Ref<Node>& node = eager::grad_fn_of(*tensor);
    return node ? pb::cast(NodeHandle{node}) : pb::none();
  });
}

}  // namespace tw::py

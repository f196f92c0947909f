// Tape nodes whose gradient is Python code: what autograd.Function is made of.
#include <pybind11/stl.h>

#include "eager/modes.h"
#include "eager/saved.h"
#include "ir/emitter.h"
#include "native.h"
#include "native_node.h"

namespace tw::py {

namespace pb = pybind11;
using eager::Tensor;

namespace {

// `context` is the Python object with _run_backward(grads) → gradients of the tensor inputs, and _release().
class PythonNode final : public eager::Node {
 public:
  PythonNode(pb::object context, std::string name) : context_(std::move(context)), name_(std::move(name)) {}
  ~PythonNode() override {
    pb::gil_scoped_acquire lock;
    context_ = pb::object();
  }

  void backward(std::vector<Tensor>& grads, std::vector<Tensor>& input_grads) override {
    pb::gil_scoped_acquire lock;
    for (size_t i = 0; materialize && i < grads.size(); i++)
      if (!grads[i]) grads[i] = eager::as_tensor(ir::op<"full">(outputs[i].sizes, 0, outputs[i].dtype));
    pb::list result = context_.attr("_run_backward")(pb::tuple(pb::cast(grads)));
    TW_CHECK(result.size() == edges.size(), kRuntime, name_, ": backward must return a gradient for each of ",
             edges.size(), " tensor inputs, got ", result.size());
    for (size_t i = 0; i < edges.size(); i++) {
      Tensor grad = result[i].cast<Tensor>();
      if (!grad || !edges[i].node) continue;
      const ir::Meta& wanted = inputs[i];
      ir::Value value(grad);
      if (value->sizes != wanted.sizes) {
        TW_CHECK(value->rank() >= static_cast<int64_t>(wanted.sizes.size()), kRuntime, name_,
                 ": backward returned a gradient of shape ", value->sizes, " for an input of shape ",
                 wanted.sizes);
        value = ir::op<"sum_to_size">(value, wanted.sizes);
      }
      if (value->dtype != wanted.dtype) value = ir::op<"cast">(value, wanted.dtype);
      input_grads[i] = eager::as_tensor(value);
    }
  }
  void release() override {
    pb::gil_scoped_acquire lock;
    context_.attr("_release")();
  }
  std::string name() const override { return name_; }

  bool materialize = true;
  std::vector<ir::Meta> inputs;

 private:
  pb::object context_;
  std::string name_;
};

NodeHandle make_node(pb::object context, const std::string& name, const std::vector<Tensor>& inputs,
                     bool materialize) {
  std::vector<eager::Edge> edges;  // first, as they may make nodes, and these are older than this one
  for (const Tensor& input : inputs) edges.push_back(eager::gradient_edge(*input));
  Ref<PythonNode> node(new PythonNode(std::move(context), name));
  eager::remember_origin(*node);
  node->materialize = materialize;
  for (size_t i = 0; i < inputs.size(); i++) {
    node->edges.push_back(std::move(edges[i]));
    node->inputs.push_back({inputs[i]->dtype, inputs[i]->sizes});
  }
  return {node};
}

void add_output(const NodeHandle& handle, const Tensor& output, bool differentiable) {
  auto number = static_cast<uint32_t>(handle.node->outputs.size());
  handle.node->outputs.push_back({output->dtype, output->sizes});
  if (differentiable) {
    output->view = nullptr;
    eager::set_history(*output, handle.node, number);
  }
}

// A Python error crosses the core as itself: dispatch is called from modules that know nothing of pybind11.
template <class Body>
auto passing_errors(Body body) {
  try {
    return body();
  } catch (pb::error_already_set& error) {
    error.restore();
    throw PythonError();
  }
}

class PythonPacked final : public eager::Packed {
 public:
  PythonPacked(pb::object packed, pb::object unpack)
      : packed_(std::move(packed)), unpack_(std::move(unpack)) {}
  ~PythonPacked() override {
    pb::gil_scoped_acquire lock;
    packed_ = unpack_ = pb::object();
  }
  Tensor unpack() override {
    pb::gil_scoped_acquire lock;
    return passing_errors([&] {
      pb::object result = unpack_(packed_);
      TW_CHECK(is_tensor(tensor_api(), result.ptr()), kType,
               "saved_tensors_hooks: unpack must return a tensor, got ", Py_TYPE(result.ptr())->tp_name);
      return result.cast<Tensor>();
    });
  }

 private:
  pb::object packed_, unpack_;
};

class PythonSavedHooks final : public eager::SavedHooks {
 public:
  PythonSavedHooks(pb::object pack, pb::object unpack) : pack_(std::move(pack)), unpack_(std::move(unpack)) {}
  std::shared_ptr<eager::Packed> pack(const Tensor& tensor) override {
    pb::gil_scoped_acquire lock;
    // What the hooks do themselves is not for them.
    eager::SavedHooks* before = eager::saved_hooks();
    eager::set_saved_hooks(nullptr);
    std::shared_ptr<eager::Packed> result;
    try {
      result = passing_errors([&] { return std::make_shared<PythonPacked>(pack_(tensor), unpack_); });
    } catch (...) {
      eager::set_saved_hooks(before);
      throw;
    }
    eager::set_saved_hooks(before);
    return result;
  }
  // A `with` block of Python.
  void enter() { before_.push_back(eager::saved_hooks()), eager::set_saved_hooks(this); }
  void leave() { eager::set_saved_hooks(before_.back()), before_.pop_back(); }

 private:
  pb::object pack_, unpack_;
  std::vector<eager::SavedHooks*> before_;
};

// What ctx.save_for_backward keeps.
struct SavedList {
  std::vector<eager::SavedTensor> items;
};

}  // namespace

void bind_function(pb::module_& m) {
  m.def("make_node", make_node);
  m.def("add_output", add_output);
  // Only for code that the node itself runs: it is alive then.
  m.def("weak_node", [](const NodeHandle& handle) {
    eager::Node* node = handle.node.get();
    return pb::cpp_function([node] { return NodeHandle{Ref<eager::Node>(node)}; });
  });
  m.def("needs_record", [](const std::vector<Tensor>& inputs) {
    if (!eager::modes().grad_enabled) return false;
    for (const Tensor& input : inputs)
      if (input && input->needs_grad()) return true;
    return false;
  });
  pb::class_<PythonSavedHooks>(m, "SavedHooks",
                               "Takes the tensors that are saved for backward, on this thread.")
      .def(pb::init<pb::object, pb::object>())
      .def("enter", &PythonSavedHooks::enter)
      .def("leave", &PythonSavedHooks::leave);
  pb::class_<SavedList>(m, "SavedTensors", "Tensors kept for backward, each with the version it had.")
      .def(pb::init([](const std::vector<Tensor>& tensors, const std::vector<bool>& are_outputs) {
        SavedList list;
        for (size_t i = 0; i < tensors.size(); i++)
          list.items.push_back(tensors[i] ? eager::SavedTensor(tensors[i], are_outputs[i])
                                          : eager::SavedTensor());
        return list;
      }))
      .def("unpack", [](const SavedList& list, const pb::object& owner) {
        Ref<eager::Node> node = owner.is_none() ? nullptr : owner.cast<NodeHandle&>().node;
        std::vector<Tensor> result;
        for (const auto& item : list.items) result.push_back(item.unpack(node, "saved_tensors"));
        return result;
      });
}

}  // namespace tw::py

// Traced functions: what thalweg.jit drives.
#include <pybind11/stl.h>

#include "base/memory_order.h"
#include "eager/modes.h"
#include "ir/cost.h"
#include "ir/graph_text.h"
#include "native.h"
#include "native_origin.h"
#include "session/step.h"

namespace tw::py {

namespace pb = pybind11;
using eager::Tensor;
using session::WorkQueue;

Scalar number_of(pb::handle object) {
  if (PyBool_Check(object.ptr())) return Scalar(object.cast<bool>());
  if (PyLong_Check(object.ptr())) return Scalar(object.cast<int64_t>());
  return Scalar(object.cast<double>());
}

namespace {

std::vector<Tensor> run(session::Step& step, const std::vector<Tensor>& inputs, const pb::list& numbers) {
  std::vector<Scalar> scalars;
  for (pb::handle number : numbers) scalars.push_back(number_of(number));
  return step.run(inputs, scalars);
}

// A call of Python that follows a step; not where the step fails.
class HostCall final : public session::QueuedWork {
 public:
  HostCall(pb::object call, Ref<session::QueuedWork> step) : call_(std::move(call)), step_(std::move(step)) {}

 protected:
  void run() override {
    if (step_) step_->wait();
    if (step_ && step_->failed()) return;
    pb::gil_scoped_acquire lock;
    call_();
  }
  void release() override {
    pb::gil_scoped_acquire lock;
    call_ = pb::none();
    step_ = nullptr;
  }

 private:
  pb::object call_;
  Ref<session::QueuedWork> step_;
};

// Blocks while so many calls are waiting. What such a call calls in its turn is called at once.
constexpr int kMostCallsWaiting = 8;

// After the step that was started last.
void call_on_host(pb::object call) {
  if (WorkQueue::host().is_current())
    call();
  else
    WorkQueue::host().start(make_ref<HostCall>(std::move(call), WorkQueue::steps().last()),
                            kMostCallsWaiting);
}

}  // namespace

void bind_jit(pb::module_& m) {
  m.def("is_dense", [](const Tensor& tensor) { return is_dense(tensor->sizes, tensor->strides); });
  m.def("synchronize", [] {
    WorkQueue::steps().wait_all();
    WorkQueue::host().wait_all();
  });
  m.def("drain_queues", [] {
    WorkQueue::steps().drain();
    WorkQueue::host().drain();
  });
  m.def("forget_queue_threads", &WorkQueue::forget_threads);
  m.def("call_on_host", call_on_host);
  m.def("is_symbolic", [](const Tensor& tensor) { return tensor->storage->symbolic(); });

  pb::class_<session::Step, std::shared_ptr<session::Step>>(m, "Step", "A traced call, ready to run.")
      .def(
          "compile",
          [](session::Step& step, eager::Tracer& tracer, int64_t memory_budget) {
            step.compile(tracer, {memory_budget, true});
          },
          pb::arg("tracer"), pb::arg("memory_budget") = -1)
      .def("valid", &session::Step::valid)
      .def("run", run)
      .def(
          "repeat",
          [](session::Step& step, const std::vector<Tensor>& inputs, const pb::list& numbers, int count) {
            for (int i = 1; i < count; i++) run(step, inputs, numbers);
            return run(step, inputs, numbers);
          },
          "Runs `count` times, with nothing of Python between: what the runtime alone takes.")
      .def("set_steps_in_flight", &session::Step::set_steps_in_flight)
      .def_property_readonly("made_state", &session::Step::made_state)
      .def_property_readonly("differentiable", &session::Step::differentiable)
      .def("set_gradients", &session::Step::set_gradients)
      .def("refuse_gradients", &session::Step::refuse_gradients)
      .def("backward_text", [](session::Step& step) { return ir::print_graph(step.backward().graph()); })
      .def("graph_text", [](session::Step& step) { return ir::print_graph(step.program().graph()); })
      .def(
          "plan", [](session::Step& step) { return &step.program().plan(); },
          pb::return_value_policy::reference_internal)
      .def("node_costs", [](session::Step& step) { return ir::node_costs(step.program().graph()); })
      .def("recorded_launches", [](session::Step& step) { return step.program().recorded_launches(); })
      .def("arena_bytes", [](session::Step& step) { return step.program().arena_bytes(); })
      .def("lower_bound_bytes", [](session::Step& step) { return step.program().plan().lower_bound_bytes; })
      .def("launch_count", [](session::Step& step) {
        size_t count = 0;
        for (const plan::Actor& actor : step.program().plan().actors) count += actor.launches.size();
        return count;
      });

  pb::class_<eager::Tracer>(m, "Tracer",
                            "Records what the front end does on this thread instead of doing it.")
      .def(pb::init([] { return std::make_unique<eager::Tracer>(python_origins()); }))
      .def("start",
           [](eager::Tracer& tracer) {
             TW_CHECK(!eager::modes().tracer, kRuntime, "jit: this thread traces a function already");
             eager::modes().tracer = &tracer;
           })
      .def("stop", [](eager::Tracer&) { eager::modes().tracer = nullptr; })
      .def("add_input", [](eager::Tracer& tracer, const std::string& name,
                           const Tensor& like) { return tracer.add_input(name, *like); })
      .def("add_as_is", &eager::Tracer::add_as_is)
      .def("entangled", &eager::Tracer::entangled)
      .def("mark", &eager::Tracer::mark)
      .def("keep_where",
           [](eager::Tracer& tracer, const Tensor& condition) { tracer.keep_where(*condition); })
      .def("add_number", &eager::Tracer::add_number)
      .def_property("module", &eager::Tracer::module, &eager::Tracer::set_module)
      .def("set_name", [](eager::Tracer& tracer, const std::string& name) { tracer.graph().name = name; })
      .def("name_variable", [](eager::Tracer& tracer, size_t i,
                               const std::string& name) { tracer.graph().variables[i].name = name; })
      .def_property_readonly("variables", &eager::Tracer::variables)
      .def_property_readonly("constants", &eager::Tracer::constants)
      .def("graph_text", [](eager::Tracer& tracer) { return ir::print_graph(tracer.graph()); })
      .def("node_count", [](eager::Tracer& tracer) { return tracer.graph().nodes.size(); })
      .def_property_readonly("draws", &eager::Tracer::draws)
      .def_property_readonly("region", &eager::Tracer::region)
      .def("begin_again", &eager::Tracer::begin_again)
      .def("end_again", &eager::Tracer::end_again)
      .def("input_written", &eager::Tracer::input_written)
      .def("restore_grads", [](eager::Tracer& tracer) { tracer.restore_grads(); })
      .def("finish", [](eager::Tracer& tracer, std::vector<Tensor> results) {
        return std::shared_ptr<session::Step>(session::Step::finish(tracer, std::move(results)));
      });
}

}  // namespace tw::py

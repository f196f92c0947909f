// A program as the call path sees it: which calls it serves, the numbers it reads, what it leaves behind.
#pragma once

#include "eager/modes.h"
#include "native_structure.h"
#include "session/formula.h"
#include "session/step_node.h"

namespace tw::py {

// Advanced when a module's attributes change; see touch_modules() in Python.
extern uint64_t g_module_epoch;

class Entry {
 public:
  // `program` is a thalweg.jit.program.Program, whose attributes say all that follows.
  explicit Entry(pybind11::object program);

  // A call that is about to run.
  struct Call {
    Arguments arguments;
    std::vector<Scalar> values;  // of the formulas
    bool begun = false;          // host steps have run, to be undone on failure
  };
  // Whether the program serves a call; reads its numbers then. Throws PythonError.
  bool serves(PyObject* args, PyObject* kwargs, Call* call);
  // The same without the guards: for the call that was traced.
  bool serves_first(PyObject* args, PyObject* kwargs, Call* call);
  // Runs. New reference; throws.
  PyObject* run(Call& call);

  // Takes the host steps of a call back that is not run.
  void undo(Call& call);

  bool alive() const { return structure_.alive(); }
  bool has_callbacks() const { return callbacks_; }
  const pybind11::object& program() const { return program_; }
  int traverse(visitproc visit, void* arg) const;

 private:
  struct Place {
    pybind11::object container, key;
  };
  struct Same {
    pybind11::object container, key, value;
  };
  struct Length {
    pybind11::object container;
    Py_ssize_t length;
  };
  struct Owner {
    pybind11::object object, name,
        value;  // the object, or a weak reference to it; its attribute is the value
  };
  struct Update {
    pybind11::object container, key;
    Structure value;
    size_t first;  // of its formulas
  };
  bool modes_fit() const;
  bool holds(Call& call);
  bool read_numbers(Call& call);
  void evaluate(Call& call);
  bool evaluates(Call& call);
  bool conditions_hold(const Arguments& arguments) const;
  std::vector<pybind11::object> objects(const Call& call, size_t first, size_t count) const;
  std::vector<eager::Tensor> launch(Call& call);

  pybind11::object program_;
  Structure structure_, result_;
  std::shared_ptr<session::Step> step_;
  session::Tape tape_;
  eager::Modes modes_;
  DType default_float_;
  std::vector<Place> places_;
  std::vector<Same> same_;
  std::vector<Length> lengths_;
  std::vector<Owner> owners_;
  std::vector<std::pair<session::Formula, Scalar>> conditions_;
  std::vector<session::Formula> formulas_;  // of the graph's numbers, of the updates, of the result
  size_t graph_numbers_ = 0, result_first_ = 0;
  std::vector<Update> updates_;
  bool differentiable_, host_steps_, callbacks_, modules_;
  uint64_t module_epoch_ = 0;
};

}  // namespace tw::py

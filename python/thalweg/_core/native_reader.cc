// Iterators read ahead, as thalweg.jit.prefetch drives them.
#include "session/reader.h"

#include <unistd.h>

#include "eager/modes.h"
#include "native.h"

namespace tw::py {

namespace pb = pybind11;

namespace {

// Drops a reference on any thread.
void drop(void* object) {
  pb::gil_scoped_acquire lock;
  Py_DECREF(static_cast<PyObject*>(object));
}

// What the interpreter knows of the reader's thread, kept from batch to batch.
class ThreadState {
 public:
  class Attached {
   public:
    explicit Attached(ThreadState& self) {
      if (!self.state_) self.state_ = PyThreadState_New(self.interpreter_);
      PyEval_RestoreThread(self.state_);
    }
    ~Attached() { PyEval_SaveThread(); }
    Attached(const Attached&) = delete;
  };

  // By who has the interpreter's lock, when the thread has ended. In a forked child there is none any more.
  void clear() {
    PyThreadState* state = std::exchange(state_, nullptr);
    if (!state || getpid() != process_) return;
    PyThreadState_Clear(state);
    PyThreadState_Delete(state);
  }

 private:
  PyInterpreterState* const interpreter_ = PyInterpreterState_Get();
  const int process_ = getpid();
  PyThreadState* state_ = nullptr;
};

class PythonReader {
 public:
  PythonReader(pb::object iterator, int ahead) : iterator_(std::move(iterator)) {
    eager::Modes modes = eager::modes();  // the iterator's tensors are made as the caller would make them
    modes.tracer = nullptr;
    auto next = [this, object = iterator_.ptr(), modes]() -> session::Reader::Batch {
      ThreadState::Attached lock(thread_);
      eager::modes() = modes;
      PyObject* batch = PyIter_Next(object);
      if (batch) return {batch, drop};
      if (PyErr_Occurred()) throw pb::error_already_set();
      throw pb::stop_iteration();
    };
    reader_ = std::make_unique<session::Reader>(next, ahead);
  }
  ~PythonReader() { close(); }

  pb::object take() {
    session::Reader::Batch batch;
    {
      pb::gil_scoped_release unlocked;
      batch = reader_->take();
    }
    return pb::reinterpret_borrow<pb::object>(static_cast<PyObject*>(batch.get()));
  }

  void close() {
    {
      pb::gil_scoped_release unlocked;
      reader_->stop();
    }
    thread_.clear();
    iterator_ = pb::none();
  }

 private:
  pb::object iterator_;  // outlives the reader's thread
  ThreadState thread_;
  std::unique_ptr<session::Reader> reader_;
};

}  // namespace

void bind_reader(pb::module_& m) {
  pb::class_<PythonReader>(m, "Reader", "An iterator that is read ahead.")
      .def(pb::init<pb::object, int>(), pb::arg("iterator"), pb::arg("ahead"))
      .def("take", &PythonReader::take, "The next item; raises what the iterator raises.")
      .def("close", &PythonReader::close, "Waits for an item that is being read, and drops what lies ready.");
}

}  // namespace tw::py

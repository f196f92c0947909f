// The type that compiled functions derive from: finds the program that serves a call, and runs it.
//
// Contract on threads: calls of one object run one by one; who waits does so without the interpreter lock. A
// thread may call an object again while it runs it.
#include <condition_variable>
#include <mutex>
#include <thread>

#include "native_entry.h"

namespace tw::py {

namespace pb = pybind11;

namespace {

// Who runs. All members but `released` and `mutex` are guarded by the interpreter lock.
struct Turns {
  std::thread::id owner;
  int depth = 0, waiting = 0;
  uint64_t released = 0;
  std::mutex mutex;
  std::condition_variable changed;

  void take() {
    std::thread::id self = std::this_thread::get_id();
    while (depth && owner != self) {
      uint64_t seen = released;
      waiting++;
      {
        pb::gil_scoped_release unlocked;
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return released != seen; });
      }
      waiting--;
    }
    owner = self;
    depth++;
  }
  void give() {
    if (--depth || !waiting) return;
    std::lock_guard lock(mutex);
    released++;
    changed.notify_all();
  }
};

struct Turn {
  explicit Turn(Turns& turns) : turns_(turns) { turns_.take(); }
  ~Turn() { turns_.give(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  Turns& turns_;
};

struct CallPath {
  PyObject_HEAD PyObject* function;             // that is traced
  std::vector<std::shared_ptr<Entry>> entries;  // the one used last comes first
  Turns turns;
  PyObject* weak_references;
};

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
  auto* self = reinterpret_cast<CallPath*>(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  new (&self->entries) std::vector<std::shared_ptr<Entry>>();
  new (&self->turns) Turns();
  return reinterpret_cast<PyObject*>(self);
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<CallPath*>(object);
  Py_VISIT(self->function);
  for (const auto& entry : self->entries)
    if (int stop = entry->traverse(visit, arg)) return stop;
  return 0;
}

int clear(PyObject* object) {
  auto* self = reinterpret_cast<CallPath*>(object);
  Py_CLEAR(self->function);
  auto entries = std::move(self->entries);
  self->entries.clear();
  return 0;
}

void destroy(PyObject* object) {
  auto* self = reinterpret_cast<CallPath*>(object);
  PyObject_GC_UnTrack(object);
  if (self->weak_references) PyObject_ClearWeakRefs(object);
  clear(object);
  self->entries.~vector();
  self->turns.~Turns();
  Py_TYPE(object)->tp_free(object);
}

PyObject* run(Entry& entry, Entry::Call& call, PyObject** callbacks) {
  PyObject* result = entry.run(call);
  if (!entry.has_callbacks()) return result;
  *callbacks = result;
  Py_RETURN_NONE;
}

// The result; null where no program serves the call.
PyObject* run_known(CallPath& self, PyObject* args, PyObject* kwargs, PyObject** callbacks) {
  for (size_t i = 0; i < self.entries.size(); i++) {
    std::shared_ptr<Entry> entry = self.entries[i];
    Entry::Call call;
    if (!entry->serves(args, kwargs, &call)) continue;
    if (i && i < self.entries.size() && self.entries[i] == entry)
      std::rotate(self.entries.begin(), self.entries.begin() + static_cast<int64_t>(i),
                  self.entries.begin() + static_cast<int64_t>(i) + 1);
    return run(*entry, call, callbacks);
  }
  return nullptr;
}

template <class Body>
PyObject* guarded(const Body& body) {
  try {
    return body();
  } catch (pb::error_already_set& error) {
    error.restore();
  } catch (...) {
    translate_exception(tensor_api());
  }
  return nullptr;
}

// What a program with callbacks gives is (result, calls): they are called when the next call may begin.
PyObject* finish(PyObject* object, PyObject* callbacks) {
  PyObject* result = PyObject_CallMethod(object, "_call_back", "(O)", callbacks);
  Py_DECREF(callbacks);
  return result;
}

PyObject* call(PyObject* object, PyObject* args, PyObject* kwargs) {
  auto* self = reinterpret_cast<CallPath*>(object);
  // Inside another trace, the function is a part of that.
  if (eager::modes().tracer) return PyObject_Call(self->function, args, kwargs);
  PyObject* callbacks = nullptr;
  PyObject* result = guarded([&]() -> PyObject* {
    Turn turn(self->turns);
    if (PyObject* known = run_known(*self, args, kwargs, &callbacks)) return known;
    auto named = kwargs ? pb::reinterpret_borrow<pb::object>(kwargs) : pb::object(pb::dict());
    pb::object traced = pb::handle(object).attr("_trace_call")(pb::handle(args), named);
    auto program = traced.cast<pb::tuple>();  // the program, and whether later calls may use it
    auto entry = std::make_shared<Entry>(program[0]);
    Entry::Call first;
    bool fits = false;
    try {
      fits = entry->serves_first(args, kwargs, &first);
    } catch (...) {
      entry->undo(first);
      throw;
    }
    TW_CHECK(fits, kRuntime, "a compiled function: its arguments or numbers changed while it was traced");
    if (program[1].cast<bool>()) self->entries.insert(self->entries.begin(), entry);
    return run(*entry, first, &callbacks);
  });
  if (!callbacks) return result;
  Py_XDECREF(result);
  return finish(object, callbacks);
}

PyObject* programs(PyObject* object, PyObject*) {
  return guarded([&] {
    pb::list result;
    for (const auto& entry : reinterpret_cast<CallPath*>(object)->entries) result.append(entry->program());
    return result.release().ptr();
  });
}

// _keep(programs): drops all others.
PyObject* keep(PyObject* object, PyObject* wanted) {
  auto& entries = reinterpret_cast<CallPath*>(object)->entries;
  std::vector<std::shared_ptr<Entry>> kept, dropped;
  for (const auto& entry : entries) {
    bool stays = false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(wanted); i++)
      stays |= PyList_GET_ITEM(wanted, i) == entry->program().ptr();
    (stays && entry->alive() ? kept : dropped).push_back(entry);
  }
  entries.swap(kept);
  Py_RETURN_NONE;
}

PyObject* set_function(PyObject* object, PyObject* function) {
  auto* self = reinterpret_cast<CallPath*>(object);
  Py_INCREF(function);
  Py_XSETREF(self->function, function);
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"_programs", programs, METH_NOARGS, "The programs that are kept, the one used last first."},
    {"_keep", keep, METH_O, "Keeps the programs in a list, but those whose arguments are gone."},
    {"_set_function", set_function, METH_O, "The function that is traced."},
    {nullptr, nullptr, 0, nullptr}};

PyTypeObject make_type() {
  PyTypeObject type = {};
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(&type), 1);
  type.tp_name = "thalweg._core._native.CallPath";
  type.tp_basicsize = sizeof(CallPath);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
  type.tp_new = make;
  type.tp_dealloc = destroy;
  type.tp_traverse = traverse;
  type.tp_clear = clear;
  type.tp_call = call;
  type.tp_methods = kMethods;
  type.tp_weaklistoffset = offsetof(CallPath, weak_references);
  type.tp_doc = "Base of compiled functions: calls run the program that serves them.";
  return type;
}

PyTypeObject g_type = make_type();

PyObject* touch_modules(PyObject*, PyObject*) {
  g_module_epoch++;
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"touch_modules", touch_modules, METH_NOARGS, "Says that an attribute of a module has changed."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void bind_call(pb::module_& m) {
  if (PyType_Ready(&g_type) < 0 || PyModule_AddFunctions(m.ptr(), kFunctions) < 0)
    throw pb::error_already_set();
  m.add_object("CallPath", reinterpret_cast<PyObject*>(&g_type));
}

}  // namespace tw::py

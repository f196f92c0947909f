#include "native_entry.h"

#include <pybind11/stl.h>

namespace tw::py {

namespace pb = pybind11;
using eager::Tensor;
using session::Formula;

uint64_t g_module_epoch = 1;

namespace {

bool is_number(PyObject* object) { return PyLong_CheckExact(object) || PyFloat_CheckExact(object); }

// False for integers beyond 64 bits.
bool to_number(PyObject* object, Scalar* value) {
  if (PyFloat_CheckExact(object)) return *value = PyFloat_AS_DOUBLE(object), true;
  int overflow = 0;
  *value = static_cast<int64_t>(PyLong_AsLongLongAndOverflow(object, &overflow));
  return !overflow;
}

pb::object to_python(const Scalar& value) {
  if (value.kind() == DTypeKind::kBool) return pb::bool_(value.to_bool());
  if (value.is_integral()) return pb::int_(value.to_int());
  return pb::float_(value.to_double());
}

// container[key]; null where there is none. A key (key, index) means container[key][index].
pb::object item_of(const pb::object& container, const pb::object& key) {
  if (PyTuple_CheckExact(key.ptr())) {
    auto pair = pb::reinterpret_borrow<pb::tuple>(key);
    pb::object items = item_of(container, pair[0]);
    return items ? item_of(items, pair[1]) : items;
  }
  if (PyDict_Check(container.ptr())) {
    PyObject* item = PyDict_GetItemWithError(container.ptr(), key.ptr());
    if (!item && PyErr_Occurred()) throw PythonError();
    return pb::reinterpret_borrow<pb::object>(item);
  }
  PyObject* item = PyObject_GetItem(container.ptr(), key.ptr());
  if (!item) PyErr_Clear();
  return pb::reinterpret_steal<pb::object>(item);
}

// Of the same type and equal; NaN is what it was.
bool unchanged(PyObject* known, PyObject* now) {
  if (known == now) return true;
  if (!now || Py_TYPE(known) != Py_TYPE(now)) return false;
  if (is_tensor(tensor_api(), known)) return false;
  int equal = PyObject_RichCompareBool(known, now, Py_EQ);
  if (equal < 0) throw PythonError();
  if (!equal && PyFloat_CheckExact(known))
    return PyFloat_AS_DOUBLE(known) != PyFloat_AS_DOUBLE(known) &&
           PyFloat_AS_DOUBLE(now) != PyFloat_AS_DOUBLE(now);
  return equal == 1;
}

bool equals(const Scalar& a, const Scalar& b) {
  bool nan = a.to_double() != a.to_double() && b.to_double() != b.to_double();
  return a == b || nan;
}

}  // namespace

Entry::Entry(pb::object program)
    : program_(std::move(program)),
      structure_(program_.attr("structure").cast<const Structure&>()),
      result_(program_.attr("result").cast<const Structure&>()),
      step_(program_.attr("step").cast<std::shared_ptr<session::Step>>()),
      modes_(eager::modes()),
      default_float_(default_float()),
      differentiable_(!program_.attr("gradient").is_none()),
      host_steps_(pb::len(program_.attr("host_steps")) > 0),
      callbacks_(program_.attr("callbacks").cast<bool>()),
      modules_(program_.attr("has_modules").cast<bool>()) {
  structure_.forget();
  result_.forget();
  for (pb::handle place : program_.attr("places")) {
    auto pair = place.cast<pb::tuple>();
    places_.push_back({pair[0], pair[1]});
  }
  size_t count = structure_.number_count() + places_.size();
  auto compile = [&](pb::handle text) { return Formula(text.cast<std::string>(), count); };
  for (pb::handle guard : program_.attr("guards")) {
    auto pair = guard.cast<pb::tuple>();
    conditions_.emplace_back(compile(pair[0]), number_of(pair[1]));
  }
  for (pb::handle text : program_.attr("graph_numbers")) formulas_.push_back(compile(text));
  graph_numbers_ = formulas_.size();
  for (pb::handle update : program_.attr("updates")) {
    auto parts = update.cast<pb::tuple>();
    updates_.push_back({parts[0], parts[1], parts[2].cast<const Structure&>(), formulas_.size()});
    updates_.back().value.forget();
    for (const std::string& text : updates_.back().value.formulas()) formulas_.emplace_back(text, count);
  }
  result_first_ = formulas_.size();
  for (const std::string& text : result_.formulas()) formulas_.emplace_back(text, count);
  for (pb::handle same : program_.attr("same")) {
    auto parts = same.cast<pb::tuple>();
    same_.push_back({parts[0], parts[1], parts[2]});
  }
  for (pb::handle length : program_.attr("lengths")) {
    auto parts = length.cast<pb::tuple>();
    lengths_.push_back({parts[0], parts[1].cast<Py_ssize_t>()});
  }
  for (pb::handle owner : program_.attr("owners")) {
    auto parts = owner.cast<pb::tuple>();
    owners_.push_back({parts[0], parts[1], parts[2]});
  }
  if (differentiable_) {
    pb::object gradient = program_.attr("gradient");
    tape_ = {gradient.attr("results").cast<std::vector<int>>(),
             gradient.attr("arguments").cast<std::vector<int>>(),
             gradient.attr("variables").cast<std::vector<Tensor>>()};
  }
  program_.attr("release")();
}

bool Entry::modes_fit() const {
  const eager::Modes& now = eager::modes();
  return now.grad_enabled == modes_.grad_enabled && now.inference == modes_.inference &&
         now.autocast == modes_.autocast && (!now.autocast || now.autocast_dtype == modes_.autocast_dtype) &&
         default_float() == default_float_;
}

bool Entry::holds(Call& call) {
  for (const Length& guard : lengths_)
    if (PyObject_Size(guard.container.ptr()) != guard.length) return false;
  for (const Owner& guard : owners_) {
    PyObject* owner = guard.object.ptr();
    if (PyWeakref_Check(owner)) owner = PyWeakref_GetObject(owner);
    if (!unchanged(guard.value.ptr(), pb::getattr(owner, guard.name, pb::none()).ptr())) return false;
  }
  for (const Same& guard : same_)
    if (!unchanged(guard.value.ptr(), item_of(guard.container, guard.key).ptr())) return false;
  if (modules_ && module_epoch_ != g_module_epoch) {
    uint64_t now = g_module_epoch;
    if (!program_.attr("modules_hold")().cast<bool>()) return false;
    module_epoch_ = now;
  }
  return step_->accepts(
      std::span<const Tensor>(call.arguments.tensors.data(), call.arguments.tensors.size()));
}

bool Entry::read_numbers(Call& call) {
  if (host_steps_) {
    call.begun = true;
    pb::object numbers = program_.attr("begin")();
    for (pb::handle number : numbers) {
      Scalar value;
      if (!is_number(number.ptr()) || !to_number(number.ptr(), &value)) return false;
      call.arguments.numbers.push_back(value);
    }
    return true;
  }
  for (const Place& place : places_) {
    pb::object now = item_of(place.container, place.key);
    Scalar value;
    if (!now || !is_number(now.ptr()) || !to_number(now.ptr(), &value)) return false;
    call.arguments.numbers.push_back(value);
  }
  return true;
}

// A formula that has no value now (a division by zero) is one that the trace has not seen.
bool Entry::evaluates(Call& call) {
  try {
    evaluate(call);
  } catch (const Error&) {
    return false;
  }
  return true;
}

void Entry::evaluate(Call& call) {
  std::span<const Scalar> numbers(call.arguments.numbers.data(), call.arguments.numbers.size());
  call.values.reserve(formulas_.size());
  for (const Formula& formula : formulas_) call.values.push_back(formula.evaluate(numbers));
}

bool Entry::conditions_hold(const Arguments& arguments) const {
  std::span<const Scalar> numbers(arguments.numbers.data(), arguments.numbers.size());
  try {
    for (const auto& [formula, outcome] : conditions_)
      if (!equals(formula.evaluate(numbers), outcome)) return false;
  } catch (const Error&) {
    return false;
  }
  return true;
}

bool Entry::serves(PyObject* args, PyObject* kwargs, Call* call) {
  if (!modes_fit() || !structure_.match(args, kwargs, &call->arguments) || !holds(*call)) return false;
  bool fits = false;
  try {
    fits = read_numbers(*call) && conditions_hold(call->arguments) && evaluates(*call);
  } catch (...) {
    undo(*call);
    throw;
  }
  if (!fits) undo(*call);
  return fits;
}

bool Entry::serves_first(PyObject* args, PyObject* kwargs, Call* call) {
  module_epoch_ = g_module_epoch;
  if (!structure_.match(args, kwargs, &call->arguments) || !read_numbers(*call)) return false;
  evaluate(*call);
  return true;
}

void Entry::undo(Call& call) {
  if (!call.begun) return;
  call.begun = false;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  program_.attr("undo")();
  PyErr_Restore(type, value, trace);
}

std::vector<pb::object> Entry::objects(const Call& call, size_t first, size_t count) const {
  std::vector<pb::object> result;
  result.reserve(count);
  for (size_t i = 0; i < count; i++) result.push_back(to_python(call.values[first + i]));
  return result;
}

std::vector<Tensor> Entry::launch(Call& call) {
  std::span<const Tensor> tensors(call.arguments.tensors.data(), call.arguments.tensors.size());
  std::span<const Scalar> numbers(call.values.data(), graph_numbers_);
  bool recorded = differentiable_ && eager::modes().grad_enabled;
  return recorded ? session::run_on_tape(step_, tape_, tensors, numbers) : step_->run(tensors, numbers);
}

PyObject* Entry::run(Call& call) {
  std::vector<Tensor> tensors;
  try {
    tensors = launch(call);
  } catch (...) {
    undo(call);
    throw;
  }
  static_assert(sizeof(pb::object) == sizeof(PyObject*));
  for (const Update& update : updates_) {
    std::vector<pb::object> numbers = objects(call, update.first, update.value.formulas().size());
    auto value = pb::reinterpret_steal<pb::object>(
        update.value.build({}, {reinterpret_cast<PyObject* const*>(numbers.data()), numbers.size()}));
    if (PyObject_SetItem(update.container.ptr(), update.key.ptr(), value.ptr())) throw PythonError();
  }
  std::vector<pb::object> wrapped, numbers = objects(call, result_first_, formulas_.size() - result_first_);
  wrapped.reserve(tensors.size());
  for (const Tensor& tensor : tensors) wrapped.push_back(pb::cast(tensor));
  return result_.build({reinterpret_cast<PyObject* const*>(wrapped.data()), wrapped.size()},
                       {reinterpret_cast<PyObject* const*>(numbers.data()), numbers.size()});
}

int Entry::traverse(visitproc visit, void* arg) const {
  auto all = [&](std::initializer_list<const pb::object*> objects) {
    for (const pb::object* object : objects)
      if (int stop = *object ? visit(object->ptr(), arg) : 0) return stop;
    return 0;
  };
  if (int stop = all({&program_})) return stop;
  for (const Structure* structure : {&structure_, &result_})
    if (int stop = structure->traverse(visit, arg)) return stop;
  for (const Place& place : places_)
    if (int stop = all({&place.container, &place.key})) return stop;
  for (const Same& same : same_)
    if (int stop = all({&same.container, &same.key, &same.value})) return stop;
  for (const Length& length : lengths_)
    if (int stop = all({&length.container})) return stop;
  for (const Owner& owner : owners_)
    if (int stop = all({&owner.object, &owner.name, &owner.value})) return stop;
  for (const Update& update : updates_) {
    if (int stop = all({&update.container, &update.key})) return stop;
    if (int stop = update.value.traverse(visit, arg)) return stop;
  }
  return 0;
}

}  // namespace tw::py

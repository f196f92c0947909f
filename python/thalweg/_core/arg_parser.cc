#include "arg_parser.h"

#include "eager/batch_part.h"
#include "eager/dispatch.h"
#include "eager/modes.h"
#include "eager/tracer.h"

namespace tw::py {

namespace {

bool is_sequence(PyObject* object) { return PyList_Check(object) || PyTuple_Check(object); }

// Names that NumPy and the array API use for the same parameter.
const char* alternative_name(const std::string& name) {
  if (name == "dim") return "axis";
  if (name == "keepdim") return "keepdims";
  return nullptr;
}

template <class T>
void store(const ir::Param& param, void* attrs, T value) {
  void* at = static_cast<char*>(attrs) + param.field.offset;
  if (param.field.optional) {
    *static_cast<std::optional<T>*>(at) = std::move(value);
  } else {
    *static_cast<T*>(at) = std::move(value);
  }
}

}  // namespace

namespace {
PyTypeObject* g_traced_number = nullptr;
}

void set_traced_number_type(PyObject* type) {
  Py_INCREF(type);
  g_traced_number = reinterpret_cast<PyTypeObject*>(type);
}

bool is_traced_number(PyObject* object) { return Py_TYPE(object) == g_traced_number; }

int traced_number(PyObject* object, Scalar* now) {
  PyObject* pair = PyObject_CallMethod(object, "_enter_graph", nullptr);
  if (!pair) throw PythonError();
  int number = static_cast<int>(PyLong_AsLong(PyTuple_GET_ITEM(pair, 0)));
  bool known = to_scalar(PyTuple_GET_ITEM(pair, 1), now);
  Py_DECREF(pair);
  TW_CHECK(known, kInternal, "a traced number without a value");
  return number;
}

ir::Value traced_operand(PyObject* object) {
  eager::Tracer* tracer = eager::modes().tracer;
  TW_CHECK(tracer, kRuntime, "a number of a traced function is used after its trace has ended");
  Scalar now;
  int number = traced_number(object, &now);
  return tracer->number_operand(number, now);
}

bool to_scalar(PyObject* object, Scalar* value) {
  if (PyFloat_Check(object)) return *value = Scalar(PyFloat_AS_DOUBLE(object)), true;
  if (PyBool_Check(object)) return *value = Scalar(object == Py_True), true;
  if (PyLong_Check(object)) {
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow) {
      double wide = PyLong_AsDouble(object);
      if (wide == -1.0 && PyErr_Occurred()) throw PythonError();
      *value = Scalar(wide);
    } else {
      *value = Scalar(static_cast<int64_t>(number));
    }
    return true;
  }
  if (PyComplex_Check(object)) {
    *value = Scalar(complex128(PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object)));
    return true;
  }
  if (is_tensor(object) || is_sequence(object) || PyUnicode_Check(object)) return false;
  // NumPy scalars: their kind is in __index__, __float__, __complex__; arrays have a shape that is not ().
  PyObject* shape = PyObject_GetAttrString(object, "shape");
  if (shape) {
    bool scalar = PyTuple_Check(shape) && PyTuple_GET_SIZE(shape) == 0;
    Py_DECREF(shape);
    if (!scalar || !PyObject_HasAttrString(object, "item")) return false;
    PyObject* item = PyObject_CallMethod(object, "item", nullptr);
    if (!item) throw PythonError();
    bool ok = item != object && to_scalar(item, value);
    Py_DECREF(item);
    return ok;
  }
  PyErr_Clear();
  return false;
}

bool to_int(PyObject* object, int64_t* value) {
  if (PyLong_Check(object) || (!is_tensor(object) && PyIndex_Check(object))) {
    PyObject* index = PyNumber_Index(object);
    if (!index) throw PythonError();
    *value = PyLong_AsLongLong(index);
    Py_DECREF(index);
    if (*value == -1 && PyErr_Occurred()) throw PythonError();
    return true;
  }
  if (!is_tensor(object)) return false;
  const eager::Tensor& tensor = handle_of(object);
  if (tensor->count() != 1 || kind_of(tensor->dtype) > DTypeKind::kInt) return false;
  *value = eager::item(*tensor).to_int();
  return true;
}

bool to_int_list(PyObject* object, IntList* list) {
  if (!is_sequence(object)) {
    if (!is_tensor(object)) return false;
    const eager::Tensor& tensor = handle_of(object);
    if (tensor->rank() != 1 || kind_of(tensor->dtype) > DTypeKind::kInt) return false;
  }
  PyObject* items = PySequence_Fast(object, "a sequence of ints is wanted");
  if (!items) throw PythonError();
  list->clear();
  bool ok = true;
  for (Py_ssize_t i = 0; ok && i < PySequence_Fast_GET_SIZE(items); i++) {
    int64_t value = 0;
    ok = to_int(PySequence_Fast_GET_ITEM(items, i), &value);
    list->push_back(value);
  }
  Py_DECREF(items);
  return ok;
}

ParsedCall::ParsedCall(const OpInfo& info) : info_(info), def_(*info.def) {
  TW_ASSERT(def_.schema.params.size(), <=, static_cast<size_t>(kMaxParams));
  std::fill_n(slots_, def_.schema.params.size(), nullptr);
  if (!def_.attr_type) return;
  attrs_ = def_.attr_type->size <= sizeof inline_ ? inline_ : ::operator new(def_.attr_type->size);
  def_.attr_type->copy(attrs_, def_.defaults());
}

ParsedCall::~ParsedCall() {
  Py_XDECREF(varargs_);
  if (!attrs_) return;
  def_.attr_type->destroy(attrs_);
  if (attrs_ != inline_) ::operator delete(attrs_);
}

void ParsedCall::call_error(const std::string& message) {
  PyErr_SetString(PyExc_TypeError, cat(info_.python_name, ": ", message).c_str());
  throw PythonError();
}

void ParsedCall::type_error(const ir::Param& param, const char* wanted, PyObject* object) {
  call_error(cat("argument ", param.name, " must be ", wanted, ", got ", Py_TYPE(object)->tp_name));
}

void ParsedCall::assign_positional(PyObject* const* args, Py_ssize_t count) {
  const auto& params = def_.schema.params;
  Py_ssize_t taken = 0;
  for (size_t i = 0; i < params.size() && taken < count; i++) {
    if (params[i].keyword_only) break;
    int64_t first = 0;
    if (params[i].variadic && !is_sequence(args[taken]) && to_int(args[taken], &first)) {
      // The ints go on to the end, or to the first argument that is none.
      Py_ssize_t last = taken;
      int64_t value = 0;
      while (last < count && to_int(args[last], &value)) last++;
      varargs_ = PyTuple_New(last - taken);
      if (!varargs_) throw PythonError();
      for (Py_ssize_t j = taken; j < last; j++) {
        Py_INCREF(args[j]);
        PyTuple_SET_ITEM(varargs_, j - taken, args[j]);
      }
      slots_[i] = varargs_;
      taken = last;
    } else {
      slots_[i] = args[taken++];
    }
  }
  if (taken < count) call_error(cat("at most ", taken, " positional arguments are wanted, got ", count));
}

void ParsedCall::set_generator(PyObject* object) {
  if (object == Py_None) return;
  PyObject* capsule = PyObject_GetAttrString(object, "_handle");
  if (!capsule) call_error(cat("argument generator must be a Generator, got ", Py_TYPE(object)->tp_name));
  auto* generator = static_cast<eager::Generator*>(PyCapsule_GetPointer(capsule, kGeneratorCapsule));
  Py_DECREF(capsule);
  if (!generator) throw PythonError();
  *reinterpret_cast<PhiloxKey*>(static_cast<char*>(attrs_) + def_.random_key_offset) =
      eager::draw_key(*generator);
}

void ParsedCall::assign_keyword(PyObject* name, PyObject* value) {
  const auto& params = def_.schema.params;
  size_t found = params.size();
  for (size_t i = 0; i < params.size(); i++)
    if (info_.names[i] == name) found = i;
  if (found < params.size() && params[found].name[0] == '_') found = params.size();  // hidden
  if (found == params.size()) {
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) throw PythonError();
    for (size_t i = 0; i < params.size(); i++) {
      const char* other = alternative_name(params[i].name);
      if ((params[i].name == text && text[0] != '_') || (other && std::string_view(other) == text)) found = i;
    }
    if (found == params.size()) {
      if (std::string_view(text) == "out") {
        out = value == Py_None ? nullptr : value;
        return;
      }
      if (std::string_view(text) == "generator" && def_.random_key_offset >= 0) return set_generator(value);
      call_error(cat("there is no argument named ", text, "; the signature is ", def_.schema.text));
    }
  }
  if (slots_[found]) call_error(cat("argument ", params[found].name, " is given twice"));
  slots_[found] = value;
}

void ParsedCall::parse(PyObject* const* args, Py_ssize_t count, PyObject* keyword_names) {
  assign_positional(args, count);
  if (keyword_names)
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keyword_names); i++)
      assign_keyword(PyTuple_GET_ITEM(keyword_names, i), args[count + i]);
  const auto& params = def_.schema.params;
  for (size_t i = 0; i < params.size(); i++) convert(i, slots_[i]);
  if (def_.schema.has_lists) starts_.push_back(static_cast<int>(inputs_.size()));
  if ((def_.number_params & 1) && !inputs_.empty()) {
    bool any = false;
    for (const ir::Value& input : inputs_) any |= input && !input->wrapped_number;
    if (!any) call_error("one of the arguments must be a Tensor");
  }
}

void ParsedCall::convert_tensor(const ir::Param& param, PyObject* object) {
  if (!object || object == Py_None) {
    if (param.optional) {
      inputs_.emplace_back();
      return;
    }
    if (!object) call_error(cat("argument ", param.name, " is missing; the signature is ", def_.schema.text));
    type_error(param, "a Tensor", object);
  }
  if (is_tensor(object)) {
    inputs_.push_back(handle_of(object));
    return;
  }
  if (!(def_.number_params >> param.tensor_index & 1)) type_error(param, "a Tensor", object);
  if (is_traced_number(object)) {
    inputs_.push_back(traced_operand(object));
    return;
  }
  Scalar number;
  if (!to_scalar(object, &number)) type_error(param, "a Tensor or a number", object);
  inputs_.push_back(eager::number_operand(number));
}

void ParsedCall::convert_tensor_list(const ir::Param& param, PyObject* object) {
  if (!object) call_error(cat("argument ", param.name, " is missing; the signature is ", def_.schema.text));
  if (!is_sequence(object)) type_error(param, "a list or tuple of Tensors", object);
  PyObject* items = PySequence_Fast(object, "");
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); i++) {
    PyObject* item = PySequence_Fast_GET_ITEM(items, i);
    if (item == Py_None && param.optional) {
      inputs_.emplace_back();
    } else if (is_tensor(item)) {
      inputs_.push_back(handle_of(item));
    } else {
      Py_DECREF(items);
      type_error(param, "a list or tuple of Tensors", item);
    }
  }
  Py_DECREF(items);
}

void ParsedCall::convert(size_t index, PyObject* object) {
  const ir::Param& param = def_.schema.params[index];
  if (param.kind != ir::ParamKind::kAttr) {
    if (def_.schema.has_lists) starts_.push_back(static_cast<int>(inputs_.size()));
    return param.kind == ir::ParamKind::kTensor ? convert_tensor(param, object)
                                                : convert_tensor_list(param, object);
  }
  if (!object) {
    if (!param.has_default)
      call_error(cat("argument ", param.name, " is missing; the signature is ", def_.schema.text));
    return;
  }
  if (object == Py_None) {
    if (!param.optional) type_error(param, param.type_text.c_str(), object);
    ir::write_attr(param.field, attrs_, std::monostate(), def_.name(), param.name.c_str());
    return;
  }
  if (!eager::modes().tracer) return convert_attr(index, object);
  PyObject* now = lift(index, object);
  struct Release {
    PyObject* object;
    ~Release() { Py_DECREF(object); }
  } release{now};
  convert_attr(index, now);
}

PyObject* ParsedCall::lift(size_t index, PyObject* object) {
  const ir::Param& param = def_.schema.params[index];
  using Kind = ir::AttrKind;
  // Inference may look at ints, so those of ops that have results are read, and guarded, instead.
  bool ints = def_.mutated_params != 0;
  bool number = param.attr_kind == Kind::kFloat || param.attr_kind == Kind::kScalar ||
                (param.attr_kind == Kind::kInt && ints);
  bool list = param.attr_kind == Kind::kFloatList || (param.attr_kind == Kind::kIntList && ints);
  auto value_of = [&](PyObject* traced, int item) -> PyObject* {
    // An op that is expanded would lose the number on the way: it is read, and guarded, instead.
    if (!eager::never_expands(def_)) return PyObject_CallMethod(traced, "_fixed", nullptr);
    Scalar now;
    lifted_.push_back({static_cast<int>(index), item, traced_number(traced, &now)});
    return now.is_integral() ? PyLong_FromLongLong(now.to_int()) : PyFloat_FromDouble(now.to_double());
  };
  if (number && is_traced_number(object)) {
    PyObject* now = value_of(object, -1);
    if (!now) throw PythonError();
    return now;
  }
  if (list && is_sequence(object)) {
    bool any = false;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); i++)
      any |= is_traced_number(PySequence_Fast_GET_ITEM(object, i));
    if (any) {
      PyObject* items = PySequence_List(object);
      for (Py_ssize_t i = 0; items && i < PyList_GET_SIZE(items); i++) {
        if (!is_traced_number(PyList_GET_ITEM(items, i))) continue;
        PyObject* now = value_of(PyList_GET_ITEM(items, i), static_cast<int>(i));
        if (!now) throw PythonError();
        PyList_SetItem(items, i, now);
      }
      if (!items) throw PythonError();
      return items;
    }
  }
  Py_INCREF(object);
  return object;
}

void ParsedCall::announce_lifted() {
  if (!lifted_.empty()) eager::modes().tracer->lift_next(def_, std::move(lifted_));
}

void ParsedCall::convert_attr(size_t index, PyObject* object) {
  const ir::Param& param = def_.schema.params[index];
  switch (param.attr_kind) {
    case ir::AttrKind::kBool: {
      int truth = is_sequence(object) || PyUnicode_Check(object) ? -1 : PyObject_IsTrue(object);
      if (truth < 0) type_error(param, "a bool", object);
      return store<bool>(param, attrs_, truth != 0);
    }
    case ir::AttrKind::kInt: {
      int64_t value = 0;
      if (PyFloat_Check(object) || !to_int(object, &value)) type_error(param, "an int", object);
      return store<int64_t>(param, attrs_, value);
    }
    case ir::AttrKind::kFloat:
    case ir::AttrKind::kScalar: {
      Scalar number;
      if (is_tensor(object) && handle_of(object)->count() == 1) {
        number = eager::item(*handle_of(object));
      } else if (!to_scalar(object, &number)) {
        type_error(param, "a number", object);
      }
      if (param.attr_kind == ir::AttrKind::kScalar) return store<Scalar>(param, attrs_, number);
      if (number.kind() == DTypeKind::kComplex) type_error(param, "a real number", object);
      return store<double>(param, attrs_, number.to_double());
    }
    case ir::AttrKind::kString: {
      const char* text = PyUnicode_Check(object) ? PyUnicode_AsUTF8(object) : nullptr;
      if (!text) type_error(param, "a str", object);
      return store<std::string>(param, attrs_, text);
    }
    case ir::AttrKind::kDType: {
      DType dtype;
      if (!api().unwrap_dtype(object, &dtype)) type_error(param, "a dtype", object);
      return store<DType>(param, attrs_, dtype);
    }
    case ir::AttrKind::kIntList: {
      IntList list;
      int64_t single = 0;
      if (!is_sequence(object) && !PyFloat_Check(object) && to_int(object, &single)) {
        list.assign(param.repeat ? param.repeat : 1, single);
      } else if (!to_int_list(object, &list)) {
        type_error(param, "an int or a list of ints", object);
      }
      if (param.repeat && list.size() == 1) list.assign(param.repeat, list[0]);
      return store<IntList>(param, attrs_, std::move(list));
    }
    case ir::AttrKind::kFloatList: {
      ir::FloatList list;
      if (!is_sequence(object)) type_error(param, "a list of numbers", object);
      for (Py_ssize_t i = 0; i < PySequence_Size(object); i++) {
        PyObject* item = PySequence_GetItem(object, i);
        Scalar number;
        bool ok = item && to_scalar(item, &number);
        Py_XDECREF(item);
        if (!ok) type_error(param, "a list of numbers", object);
        list.push_back(number.to_double());
      }
      return store<ir::FloatList>(param, attrs_, std::move(list));
    }
  }
}

}  // namespace tw::py

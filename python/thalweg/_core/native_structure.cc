#include "native_structure.h"

#include <pybind11/stl.h>

#include <algorithm>

namespace tw::py {

namespace pb = pybind11;
using eager::Tensor;

TensorType::TensorType(const eager::TensorImpl& tensor)
    : dtype(tensor.dtype),
      sizes(tensor.sizes),
      strides(tensor.strides),
      device(tensor.device()),
      layout(tensor.global ? layout_of(tensor).get() : nullptr),
      needs_grad(tensor.needs_grad()),
      leaf(!needs_grad || tensor.is_leaf()),
      inference(tensor.inference),
      read_only(tensor.storage->read_only) {}

bool TensorType::fits(const eager::TensorImpl& tensor) const {
  return tensor.dtype == dtype && tensor.sizes == sizes && tensor.strides == strides &&
         tensor.device() == device && (tensor.global ? layout_of(tensor).get() : nullptr) == layout &&
         tensor.needs_grad() == needs_grad && (!needs_grad || tensor.is_leaf() == leaf) &&
         tensor.inference == inference && tensor.storage->read_only == read_only;
}

namespace {

bool fits_in_64_bits(PyObject* number) {
  int overflow = 0;
  PyLong_AsLongLongAndOverflow(number, &overflow);
  return !overflow;
}

// Dataclasses, without the costly import of their module.
pb::object fields_of(PyObject* object) {
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  if (!PyObject_HasAttrString(type, "__dataclass_fields__")) return pb::object();
  return pb::tuple(pb::handle(type).attr("__dataclass_fields__"));
}

bool hashes_by_identity(PyObject* object) { return Py_TYPE(object)->tp_hash == PyBaseObject_Type.tp_hash; }

[[noreturn]] void type_error(const std::string& message) {
  PyErr_SetString(PyExc_TypeError, message.c_str());
  throw PythonError();
}

}  // namespace

class Structure::Maker {
 public:
  Maker(Structure* structure, PyObject* number_type, const std::string* function)
      : s_(*structure), number_type_(number_type), function_(function) {}

  void item(PyObject* object) {
    if (is_tensor(tensor_api(), object)) return tensor(object);
    if (number_type_ && reinterpret_cast<PyObject*>(Py_TYPE(object)) == number_type_) {
      add(Kind::kFormula, static_cast<int>(s_.formulas_.size()));
      s_.formulas_.push_back(pb::handle(object).attr("text").cast<std::string>());
      s_.numbers_.push_back(pb::reinterpret_borrow<pb::object>(object));
    } else if (PyTuple_Check(object)) {
      bool named = PyObject_HasAttrString(object, "_fields");
      auto type = pb::reinterpret_borrow<pb::object>(reinterpret_cast<PyObject*>(Py_TYPE(object)));
      auto count = static_cast<int>(PyTuple_GET_SIZE(object));
      add(named ? Kind::kNamed : Kind::kTuple, count, type);
      for (int i = 0; i < count; i++) item(PyTuple_GET_ITEM(object, i));
    } else if (PyList_Check(object)) {
      auto items = pb::reinterpret_steal<pb::tuple>(PyList_AsTuple(object));
      add(Kind::kList, static_cast<int>(items.size()));
      for (pb::handle each : items) item(each.ptr());
    } else if (PyDict_Check(object)) {
      auto copy = pb::reinterpret_steal<pb::dict>(PyDict_Copy(object));
      pb::tuple keys(copy);
      add(Kind::kDict, static_cast<int>(copy.size()), pb::object(), keys);
      for (pb::handle key : keys) item(PyDict_GetItem(copy.ptr(), key.ptr()));
    } else if (pb::object fields = fields_of(object)) {
      auto type = pb::reinterpret_borrow<pb::object>(reinterpret_cast<PyObject*>(Py_TYPE(object)));
      add(Kind::kRecord, static_cast<int>(pb::len(fields)), type, fields);
      for (pb::handle field : fields) item(pb::object(pb::getattr(object, field)).ptr());
    } else {
      plain(object);
    }
  }

  // A value of a call counts as it is, numbers too.
  void constant(PyObject* object) {
    if (is_tensor(tensor_api(), object)) type_error(*function_ + ": a static argument must not be a tensor");
    value(object);
  }

 private:
  void add(Kind kind, int index = 0, pb::object object = {}, pb::object names = {}) {
    s_.nodes_.push_back({kind, index, std::move(object), std::move(names)});
  }

  void tensor(PyObject* object) {
    const Tensor& handle = handle_of(tensor_api(), object);
    size_t i = 0;
    while (i < s_.tensors_.size() && handle_of(tensor_api(), s_.tensors_[i].ptr()) != handle) i++;
    add(Kind::kTensor, static_cast<int>(i));
    if (i < s_.tensors_.size()) return;
    s_.tensors_.push_back(pb::reinterpret_borrow<pb::object>(object));
    s_.types_.emplace_back(*handle);
  }

  void plain(PyObject* object) {
    bool in_call = function_ != nullptr;
    if (in_call && ((PyLong_CheckExact(object) && fits_in_64_bits(object)) || PyFloat_CheckExact(object))) {
      add(PyLong_CheckExact(object) ? Kind::kInt : Kind::kFloat, static_cast<int>(s_.numbers_.size()));
      s_.numbers_.push_back(pb::reinterpret_borrow<pb::object>(object));
      s_.number_count_++;
    } else {
      value(object);
    }
  }

  void value(PyObject* object) {
    auto held = pb::reinterpret_borrow<pb::object>(object);
    if (function_) {
      if (hashes_by_identity(object)) {
        if (PyObject* weak = PyWeakref_NewRef(object, nullptr))
          return add(Kind::kObject, 0, pb::reinterpret_steal<pb::object>(weak));
        PyErr_Clear();
      } else if (PyObject_Hash(object) == -1) {
        PyErr_Clear();
        type_error(
            cat(*function_,
                ": arguments of a compiled function are tensors, and values that can be keys of a dict, in "
                "lists, tuples, dicts and dataclasses; got ",
                std::string(pb::repr(held))));
      }
    }
    add(Kind::kValue, 0, held);
  }

  Structure& s_;
  PyObject* number_type_;
  const std::string* function_;  // null: a result
};

Structure Structure::of_call(pb::tuple args, pb::dict kwargs, const std::vector<int>& static_positions,
                             const std::vector<std::string>& static_names, const std::string& function) {
  Structure result;
  Maker maker(&result, nullptr, &function);
  auto count = static_cast<int>(args.size());
  result.nodes_.push_back({Kind::kTuple, count, pb::type::of(args), {}});
  for (int i = 0; i < count; i++) {
    bool fixed = std::find(static_positions.begin(), static_positions.end(), i) != static_positions.end();
    pb::object arg = args[i];
    fixed ? maker.constant(arg.ptr()) : maker.item(arg.ptr());
  }
  result.nodes_.push_back({Kind::kDict, static_cast<int>(kwargs.size()), {}, pb::tuple(kwargs)});
  for (auto [key, value] : kwargs) {
    auto name = key.cast<std::string>();
    bool fixed = std::find(static_names.begin(), static_names.end(), name) != static_names.end();
    fixed ? maker.constant(value.ptr()) : maker.item(value.ptr());
  }
  return result;
}

Structure Structure::of_result(pb::object tree, const pb::type& number_type) {
  Structure result;
  Maker(&result, number_type.ptr(), nullptr).item(tree.ptr());
  return result;
}

class Structure::Matcher {
 public:
  Matcher(const Structure& structure, Arguments* found)
      : s_(structure), api_(tensor_api()), at_(structure.nodes_.data()), found_(*found) {}

  bool item(PyObject* object) {
    const Node& node = *at_++;
    switch (node.kind) {
      case Kind::kTensor:
        return is_tensor(api_, object) && tensor(node, handle_of(api_, object));
      case Kind::kInt: {
        int overflow = 0;
        if (!PyLong_CheckExact(object)) return false;
        found_.numbers.push_back(static_cast<int64_t>(PyLong_AsLongLongAndOverflow(object, &overflow)));
        return !overflow;
      }
      case Kind::kFloat:
        if (!PyFloat_CheckExact(object)) return false;
        found_.numbers.push_back(PyFloat_AS_DOUBLE(object));
        return true;
      case Kind::kValue:
        return same(node.object.ptr(), object);
      case Kind::kObject:
        return PyWeakref_GetObject(node.object.ptr()) == object;
      case Kind::kTuple:
      case Kind::kNamed:
        if (reinterpret_cast<PyObject*>(Py_TYPE(object)) != node.object.ptr() ||
            PyTuple_GET_SIZE(object) != node.index)
          return false;
        for (int i = 0; i < node.index; i++)
          if (!item(PyTuple_GET_ITEM(object, i))) return false;
        return true;
      case Kind::kList:
        if (!PyList_Check(object) || PyList_GET_SIZE(object) != node.index) return false;
        for (int i = 0; i < node.index; i++)
          if (i >= PyList_GET_SIZE(object) || !item(PyList_GET_ITEM(object, i))) return false;
        return true;
      case Kind::kDict:
        return PyDict_Check(object) && dict(node, object);
      case Kind::kRecord:
        return record(node, object);
      case Kind::kFormula:
        break;
    }
    return false;
  }

  bool dict(const Node& node, PyObject* object) {
    if ((object ? PyDict_GET_SIZE(object) : 0) != node.index) return false;
    Py_ssize_t at = 0;
    PyObject *key = nullptr, *value = nullptr;
    for (int i = 0; i < node.index; i++) {
      if (!PyDict_Next(object, &at, &key, &value) || !same(PyTuple_GET_ITEM(node.names.ptr(), i), key))
        return false;
      if (!item(value)) return false;
    }
    return true;
  }

  const Node& next() { return *at_++; }

  // Tensors with places of their own must not be one tensor.
  bool distinct() const {
    size_t count = found_.tensors.size();
    if (count <= 16) {
      for (size_t i = 1; i < count; i++)
        for (size_t j = 0; j < i; j++)
          if (found_.tensors[i] == found_.tensors[j]) return false;
      return true;
    }
    std::vector<const void*> sorted;
    for (const Tensor& tensor : found_.tensors) sorted.push_back(tensor.get());
    std::sort(sorted.begin(), sorted.end());
    return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  }

 private:
  static bool same(PyObject* known, PyObject* object) {
    if (known == object) return true;
    if (Py_TYPE(known) != Py_TYPE(object)) return false;
    int equal = PyObject_RichCompareBool(known, object, Py_EQ);
    if (equal < 0) throw PythonError();
    return equal == 1;
  }

  bool tensor(const Node& node, const Tensor& handle) {
    auto index = static_cast<size_t>(node.index);
    if (index < found_.tensors.size()) return found_.tensors[index] == handle;
    if (!s_.types_[index].fits(*handle)) return false;
    found_.tensors.push_back(handle);
    return true;
  }

  bool record(const Node& node, PyObject* object) {
    if (reinterpret_cast<PyObject*>(Py_TYPE(object)) != node.object.ptr()) return false;
    for (int i = 0; i < node.index; i++) {
      PyObject* value = PyObject_GetAttr(object, PyTuple_GET_ITEM(node.names.ptr(), i));
      if (!value) throw PythonError();
      bool fits = item(value);
      Py_DECREF(value);
      if (!fits) return false;
    }
    return true;
  }

  const Structure& s_;
  const TensorApi& api_;
  const Node* at_;
  Arguments& found_;
};

bool Structure::match(PyObject* args, PyObject* kwargs, Arguments* found) const {
  Matcher matcher(*this, found);
  return matcher.item(args) && matcher.dict(matcher.next(), kwargs) && matcher.distinct();
}

class Structure::Builder {
 public:
  Builder(const Structure& structure, std::span<PyObject* const> tensors, std::span<PyObject* const> numbers)
      : at_(structure.nodes_.data()), tensors_(tensors), numbers_(numbers) {}

  pb::object item() {
    const Node& node = *at_++;
    switch (node.kind) {
      case Kind::kTensor:
        return pb::reinterpret_borrow<pb::object>(tensors_[node.index]);
      case Kind::kInt:
      case Kind::kFloat:
      case Kind::kFormula:
        return pb::reinterpret_borrow<pb::object>(numbers_[node.index]);
      case Kind::kValue:
        return node.object;
      case Kind::kObject:
        return pb::reinterpret_borrow<pb::object>(PyWeakref_GetObject(node.object.ptr()));
      case Kind::kTuple:
      case Kind::kNamed: {
        pb::tuple items(node.index);
        for (int i = 0; i < node.index; i++) items[i] = item();
        bool plain = node.object.ptr() == reinterpret_cast<PyObject*>(&PyTuple_Type);
        return plain ? items : node.kind == Kind::kNamed ? node.object(*items) : node.object(items);
      }
      case Kind::kList: {
        pb::list items(node.index);
        for (int i = 0; i < node.index; i++) items[i] = item();
        return items;
      }
      case Kind::kDict: {
        pb::dict items;
        for (pb::handle key : node.names) items[key] = item();
        return items;
      }
      case Kind::kRecord: {
        pb::object base = pb::reinterpret_borrow<pb::object>(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
        pb::object result = base.attr("__new__")(node.object);
        for (pb::handle field : node.names) base.attr("__setattr__")(result, field, item());
        return result;
      }
    }
    return pb::none();
  }

 private:
  const Node* at_;
  std::span<PyObject* const> tensors_, numbers_;
};

PyObject* Structure::build(std::span<PyObject* const> tensors, std::span<PyObject* const> numbers) const {
  if (nodes_.size() == 1 && nodes_[0].kind == Kind::kTensor) {
    Py_INCREF(tensors[0]);
    return tensors[0];
  }
  return Builder(*this, tensors, numbers).item().release().ptr();
}

std::pair<pb::object, pb::object> Structure::build_call(const pb::list& tensors,
                                                        const pb::list& numbers) const {
  std::vector<PyObject*> t, n;
  for (pb::handle tensor : tensors) t.push_back(tensor.ptr());
  for (pb::handle number : numbers) n.push_back(number.ptr());
  Builder builder(*this, t, n);
  pb::object args = builder.item();
  return {args, builder.item()};
}

bool Structure::alive() const {
  return std::none_of(nodes_.begin(), nodes_.end(), [](const Node& node) {
    return node.kind == Kind::kObject && PyWeakref_GetObject(node.object.ptr()) == Py_None;
  });
}

std::vector<pb::object> Structure::weak_references(const pb::object& callback) const {
  std::vector<pb::object> result;
  for (const Node& node : nodes_) {
    if (node.kind != Kind::kObject) continue;
    PyObject* reference = PyWeakref_NewRef(PyWeakref_GetObject(node.object.ptr()), callback.ptr());
    if (!reference) throw pb::error_already_set();
    result.push_back(pb::reinterpret_steal<pb::object>(reference));
  }
  return result;
}

std::vector<std::string> Structure::parts() const {
  const char* names[] = {"tensor", "int",   "float", "formula", "value", "object",
                         "tuple",  "tuple", "list",  "dict",    "record"};
  std::vector<std::string> result;
  for (const Node& node : nodes_) {
    std::string& part = result.emplace_back(names[static_cast<int>(node.kind)]);
    if (node.kind >= Kind::kTuple || node.kind == Kind::kTensor) part += cat(" ", node.index);
    if (node.kind == Kind::kValue) part += cat(" ", std::string(pb::repr(node.object)));
    if (node.kind == Kind::kObject) {
      PyObject* object = PyWeakref_GetObject(node.object.ptr());
      part = cat(Py_TYPE(object)->tp_name, " at ", reinterpret_cast<uintptr_t>(object));
    }
    if (node.names) part += cat(" ", std::string(pb::repr(node.names)));
  }
  return result;
}

int Structure::traverse(visitproc visit, void* arg) const {
  auto each = [&](const pb::object& object) { return object ? visit(object.ptr(), arg) : 0; };
  for (const Node& node : nodes_)
    for (const pb::object& object : {node.object, node.names})
      if (int stop = each(object)) return stop;
  return 0;
}

void bind_structure(pb::module_& m) {
  pb::class_<Structure>(m, "Structure", "Nested values: tensors and numbers apart from what is around them.")
      .def_static("of_call", &Structure::of_call)
      .def_static("of_result", &Structure::of_result)
      .def("build_call", &Structure::build_call)
      .def("build",
           [](const Structure& structure, const pb::list& tensors) {
             std::vector<PyObject*> t, n;
             for (pb::handle tensor : tensors) t.push_back(tensor.ptr());
             for (const pb::object& number : structure.numbers()) n.push_back(number.ptr());
             return pb::reinterpret_steal<pb::object>(structure.build(t, n));
           })
      .def("forget", &Structure::forget)
      .def_property_readonly("parts", &Structure::parts)
      .def("weak_references", &Structure::weak_references, pb::arg("callback"))
      .def_property_readonly("tensors", &Structure::tensors)
      .def_property_readonly("numbers", &Structure::numbers)
      .def_property_readonly("formulas", &Structure::formulas)
      .def_property_readonly("types", [](const Structure& structure) {
        pb::list result;
        for (const TensorType& type : structure.types()) {
          pb::tuple sizes(type.sizes.size()), strides(type.strides.size());
          for (size_t i = 0; i < type.sizes.size(); i++)
            sizes[i] = type.sizes[i], strides[i] = type.strides[i];
          result.append(pb::make_tuple(
              type.dtype, sizes, strides, type.needs_grad, type.leaf, type.inference, type.read_only,
              type.layout ? sbp::name_of(*type.layout) : std::string("local"), device::name_of(type.device)));
        }
        return result;
      });
}

}  // namespace tw::py

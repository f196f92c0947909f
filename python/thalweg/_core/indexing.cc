// x[index]: integers, slices, None and Ellipsis become select, slice and unsqueeze views; tensors, lists and bools
// among them become the ops index and index_put.
#include "eager/dispatch.h"
#include "ir/emitter.h"
#include "op_callable.h"

namespace tw::py {

namespace {

struct Item {
  PyObject* object;   // borrowed
  ir::Value indices;  // of an advanced index
};

bool is_bool_index(PyObject* object) { return PyBool_Check(object); }

// A list or array as an index: through thalweg.tensor, which knows every nesting.
ir::Value to_index_tensor(PyObject* object) {
  PyObject* module = PyImport_ImportModule("thalweg");
  PyObject* result = module ? PyObject_CallMethod(module, "as_tensor", "O", object) : nullptr;
  Py_XDECREF(module);
  if (!result) throw PythonError();
  ir::Value value = handle_of(result);
  // An empty list is an index of integers, not of floats.
  if (value->count() == 0 && is_float(value->dtype)) value = ir::op<"cast">(value, DType::kInt64);
  Py_DECREF(result);
  return value;
}

bool is_advanced(PyObject* object) {
  if (object == Py_None || object == Py_Ellipsis || PySlice_Check(object) || is_bool_index(object)) return false;
  if (is_tensor(object)) {
    const eager::Tensor& tensor = handle_of(object);
    return !(tensor->rank() == 0 && is_integral(tensor->dtype));
  }
  return !PyIndex_Check(object) || PyObject_HasAttrString(object, "__array__");
}

// A bare list counts as one index, a tuple as one index for each dim.
std::vector<Item> split_index(PyObject* index) {
  std::vector<Item> items;
  if (!PyTuple_Check(index)) return {Item{index, nullptr}};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(index); i++) items.push_back({PyTuple_GET_ITEM(index, i), nullptr});
  return items;
}

int64_t dims_used(const Item& item) {
  if (item.object == Py_None || item.object == Py_Ellipsis || is_bool_index(item.object)) return 0;
  if (item.indices && (item.indices->dtype == DType::kBool || item.indices->dtype == DType::kUInt8))
    return item.indices->rank();
  return 1;
}

ir::Value apply_slice(const ir::Value& x, int64_t dim, PyObject* slice) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(slice, &start, &stop, &step) < 0) throw PythonError();
  TW_CHECK(step > 0, kValue, "indexing: the step of a slice must be positive, got ", step);
  PySlice_AdjustIndices(x->size(dim), &start, &stop, step);
  if (start == 0 && step == 1 && stop >= x->size(dim)) return ir::op<"slice">(x, dim, 0, x->size(dim), 1);
  return ir::op<"slice">(x, dim, static_cast<int64_t>(start), static_cast<int64_t>(std::max(start, stop)),
                         static_cast<int64_t>(step));
}

struct Indexed {
  ir::Value view;        // after the basic part
  ir::Values indices;    // one entry a dim up to the last advanced one; null where a dim is taken whole
  bool advanced = false;
};

Indexed apply_index(const ir::Value& x, PyObject* index) {
  std::vector<Item> items = split_index(index);
  int64_t used = 0;
  int ellipses = 0;
  for (Item& item : items) {
    if (is_advanced(item.object)) item.indices = is_tensor(item.object) ? ir::Value(handle_of(item.object))
                                                                        : to_index_tensor(item.object);
    used += dims_used(item);
    ellipses += item.object == Py_Ellipsis;
  }
  TW_CHECK(ellipses <= 1, kIndex, "indexing: only one ellipsis is allowed");
  TW_CHECK(used <= x->rank(), kIndex, "indexing: too many indices for a tensor of dimension ", x->rank(), ": got ",
           used);
  Indexed result;
  result.view = x;
  int64_t dim = 0;
  auto set_index = [&](int64_t at, const ir::Value& indices) {
    if (static_cast<int64_t>(result.indices.size()) <= at) result.indices.resize(at + 1);
    result.indices[at] = indices;
    result.advanced = true;
  };
  for (const Item& item : items) {
    if (item.object == Py_Ellipsis) {
      dim += x->rank() - used;
    } else if (item.object == Py_None) {
      result.view = ir::op<"unsqueeze">(result.view, dim++);
    } else if (is_bool_index(item.object)) {
      // True and False add a dim of size 1 or 0.
      result.view = ir::op<"unsqueeze">(result.view, dim);
      int64_t size = item.object == Py_True ? 1 : 0;
      set_index(dim++, ir::op<"full">(IntList{size}, 0, DType::kInt64));
    } else if (PySlice_Check(item.object)) {
      result.view = apply_slice(result.view, dim, item.object);
      dim++;
    } else if (item.indices) {
      set_index(dim, item.indices);
      dim += dims_used(item);
      if (dims_used(item) == 0) dim++;
    } else {
      int64_t position = 0;
      if (!to_int(item.object, &position)) TW_FAIL(kIndex, "indexing: ", Py_TYPE(item.object)->tp_name, " is no index");
      int64_t size = result.view->size(dim);
      TW_CHECK(position >= -size && position < size, kIndex, "indexing: index ", position,
               " is out of bounds for dim ", dim, " with size ", size);
      result.view = ir::op<"select">(result.view, dim, position);
    }
  }
  return result;
}

ir::Value value_to_assign(PyObject* value, DType dtype) {
  if (is_tensor(value)) return handle_of(value);
  Scalar number;
  if (to_scalar(value, &number)) return ir::Value(eager::scalar_tensor(number, dtype));
  return to_index_tensor(value);
}

}  // namespace

PyObject* get_item(PyObject* tensor, PyObject* index) {
  try {
    ir::Value x = handle_of(tensor);
    Indexed indexed = apply_index(x, index);
    ir::Value result = indexed.view;
    if (indexed.advanced) {
      result = ir::op<"index">(result, indexed.indices);
    } else if (result == x) {
      result = ir::op<"view">(x, x->sizes);
    }
    return api().wrap(eager::as_tensor(result));
  } catch (...) {
    translate_exception();
    return nullptr;
  }
}

int set_item(PyObject* tensor, PyObject* index, PyObject* value) {
  try {
    ir::Value x = handle_of(tensor);
    Indexed indexed = apply_index(x, index);
    ir::Value source = value_to_assign(value, x->dtype);
    if (!indexed.advanced) {
      // As in NumPy, leading dims of size 1 of the source are dropped.
      while (source->rank() > indexed.view->rank() && source->size(0) == 1) source = ir::op<"select">(source, 0, 0);
      const ir::Value inputs[] = {indexed.view, source};
      eager::dispatch_inplace(ir::registry().get("copy"), inputs, {}, nullptr);
      return 0;
    }
    const ir::OpDef& put = ir::registry().get("index_put");
    std::vector<ir::Value> inputs = {indexed.view};
    inputs.insert(inputs.end(), indexed.indices.begin(), indexed.indices.end());
    inputs.push_back(source->dtype == x->dtype ? source : ir::op<"cast">(source, x->dtype));
    int indices = static_cast<int>(indexed.indices.size());
    const int starts[] = {0, 1, 1 + indices, 2 + indices};
    ir::AttrBox attrs(put.attr_type, put.defaults());
    eager::dispatch_inplace(put, inputs, starts, attrs.get());
    return 0;
  } catch (...) {
    translate_exception();
    return -1;
  }
}

}  // namespace tw::py

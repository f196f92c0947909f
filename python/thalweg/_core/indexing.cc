// x[index]: integers, slices, None and Ellipsis become select, slice and unsqueeze views; tensors, lists and
// bools among them become the ops index and index_put.
#include "eager/dispatch.h"
#include "eager/global.h"
#include "eager/modes.h"
#include "eager/placing.h"
#include "ir/emitter.h"
#include "op_callable.h"

namespace tw::py {

namespace {

struct Item {
  PyObject* object;   // borrowed
  ir::Value indices;  // of an advanced index
  int truth = -1;     // of a single bool, Python's or a 0-dim tensor: it adds a dim of size 1 or 0
};

// A list or array as an index: through thalweg.tensor, which knows every nesting.
ir::Value to_index_tensor(PyObject* object) {
  PyObject* module = PyImport_ImportModule("thalweg");
  PyObject* result = module ? PyObject_CallMethod(module, "as_tensor", "O", object) : nullptr;
  Py_XDECREF(module);
  if (!result) throw PythonError();
  ir::Value value = handle_of(result);
  Py_DECREF(result);
  return value;
}

// What an index or a source is made of in Python lies beside the indexed tensor: on its device, or whole on
// each of them.
ir::Value beside(const ir::Value& x, const ir::Value& made) {
  const eager::TensorImpl& tensor = eager::tensor_of(x);
  if (!tensor.global) return ir::Value(eager::to_device(eager::as_tensor(made), tensor.device()));
  return ir::Value(
      eager::whole_to_global(eager::as_tensor(made), eager::broadcast_on(layout_of(tensor)->placement)));
}
// Where ops on `x` make tensors from nothing.
const sbp::Layout* creation_for(const ir::Value& x) {
  const eager::TensorImpl& tensor = eager::tensor_of(x);
  return tensor.global ? eager::broadcast_on(layout_of(tensor)->placement).get() : eager::modes().creation;
}

bool is_mask(const ir::Value& index) { return index->dtype == DType::kBool || index->dtype == DType::kUInt8; }

Item make_item(const ir::Value& x, PyObject* object) {
  Item item{object, nullptr};
  if (object == Py_None || object == Py_Ellipsis || PySlice_Check(object)) return item;
  if (PyBool_Check(object)) {
    item.truth = object == Py_True;
    return item;
  }
  ir::Value indices;
  if (is_tensor(object)) {
    indices = handle_of(object);
  } else if (PyList_Check(object) || PyTuple_Check(object) || PyObject_HasAttrString(object, "__array__")) {
    indices = beside(x, to_index_tensor(object));
    // An empty list is an index of integers, not of floats.
    if (indices->count() == 0 && is_float(indices->dtype) && !PyObject_HasAttrString(object, "__array__"))
      indices = ir::op<"cast">(indices, DType::kInt64);
  } else {
    return item;  // an int, or refused later
  }
  TW_CHECK(kind_of(indices->dtype) <= DTypeKind::kInt, kIndex,
           "indexing: indices must be integers, bools or slices, got a tensor of dtype ", indices->dtype);
  if (indices->rank() > 0) {
    item.indices = indices;
  } else if (is_mask(indices)) {
    item.truth = eager::item(eager::tensor_of(indices)).to_int() != 0;
  } else {
    // A 0-dim integer selects. One that is no Python object of its own is read here.
    item.indices = indices;
  }
  return item;
}

// A tuple is one index for each dim, anything else one index.
std::vector<Item> split_index(const ir::Value& x, PyObject* index) {
  if (!PyTuple_Check(index)) return {make_item(x, index)};
  std::vector<Item> items;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(index); i++)
    items.push_back(make_item(x, PyTuple_GET_ITEM(index, i)));
  return items;
}

int64_t dims_used(const Item& item) {
  if (item.object == Py_None || item.object == Py_Ellipsis || item.truth >= 0) return 0;
  return item.indices && is_mask(item.indices) ? item.indices->rank() : 1;
}

ir::Value apply_slice(const ir::Value& x, int64_t dim, PyObject* slice) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(slice, &start, &stop, &step) < 0) throw PythonError();
  TW_CHECK(step > 0, kValue, "indexing: the step of a slice must be positive, got ", step);
  PySlice_AdjustIndices(x->size(dim), &start, &stop, step);
  bool whole = start == 0 && step == 1 && stop >= x->size(dim);
  if (whole && eager::tensor_of(x).global) return x;  // keeps to the cuts of any layout
  if (whole) return ir::op<"slice">(x, dim, 0, x->size(dim), 1);
  return ir::op<"slice">(x, dim, static_cast<int64_t>(start), static_cast<int64_t>(std::max(start, stop)),
                         static_cast<int64_t>(step));
}

struct Indexed {
  ir::Value view;      // after the basic part
  ir::Values indices;  // as the op index takes them: masks as they are, null for a dim taken whole
  bool advanced = false;
};

// Position `dim` of the view: the part of an index that has been applied.
class Indexer {
 public:
  explicit Indexer(const ir::Value& x) { result_.view = x; }

  void keep(int64_t dims) {
    dim_ += dims;
    result_.indices.resize(result_.indices.size() + dims);
  }
  void insert_dim() { result_.view = ir::op<"unsqueeze">(result_.view, dim_); }
  void slice(PyObject* object) {
    result_.view = apply_slice(result_.view, dim_, object);
    keep(1);
  }
  void advanced(const ir::Value& indices) {
    result_.indices.push_back(indices);
    dim_ += is_mask(indices) ? indices->rank() : 1;
    result_.advanced = true;
  }
  void select(int64_t position) {
    int64_t size = result_.view->size(dim_);
    TW_CHECK(position >= -size && position < size, kIndex, "indexing: index ", position,
             " is out of bounds for dim ", dim_, " of size ", size);
    result_.view = ir::op<"select">(result_.view, dim_, position);
  }
  Indexed finish() {
    auto& indices = result_.indices;
    while (!indices.empty() && !indices.back()) indices.pop_back();
    return std::move(result_);
  }

 private:
  Indexed result_;
  int64_t dim_ = 0;
};

void apply_item(Indexer& indexer, const Item& item) {
  if (item.object == Py_None) {
    indexer.insert_dim();
    indexer.keep(1);
  } else if (item.truth >= 0) {
    indexer.insert_dim();
    indexer.advanced(ir::op<"full">(IntList{item.truth}, 0, DType::kInt64));
  } else if (PySlice_Check(item.object)) {
    indexer.slice(item.object);
  } else if (item.indices && (item.indices->rank() > 0 || eager::modes().tracer)) {
    indexer.advanced(item.indices);  // a 0-dim one, too, where a program knows it when it runs
  } else if (item.indices) {
    indexer.select(eager::item(eager::tensor_of(item.indices)).to_int());
  } else {
    int64_t position = 0;
    int overflow = 0;
    if (PyLong_Check(item.object)) PyLong_AsLongLongAndOverflow(item.object, &overflow);
    TW_CHECK(!overflow, kIndex, "indexing: an index of more than 64 bits is out of range");
    if (!to_int(item.object, &position))
      TW_FAIL(kIndex, "indexing: ", Py_TYPE(item.object)->tp_name, " is no index");
    indexer.select(position);
  }
}

Indexed apply_index(const ir::Value& x, PyObject* index) {
  std::vector<Item> items = split_index(x, index);
  int64_t used = 0;
  int ellipses = 0;
  for (const Item& item : items) {
    used += dims_used(item);
    ellipses += item.object == Py_Ellipsis;
  }
  TW_CHECK(ellipses <= 1, kIndex, "indexing: only one ellipsis is allowed");
  TW_CHECK(used <= x->rank(), kIndex, "indexing: too many indices for a tensor of dimension ", x->rank(),
           ": got ", used);
  Indexer indexer(x);
  for (const Item& item : items) {
    if (item.object == Py_Ellipsis)
      indexer.keep(x->rank() - used);
    else
      apply_item(indexer, item);
  }
  return indexer.finish();
}

ir::Value value_to_assign(const ir::Value& x, PyObject* value) {
  if (is_tensor(value)) return handle_of(value);
  Scalar number;
  if (to_scalar(value, &number)) return beside(x, ir::Value(eager::scalar_tensor(number, x->dtype)));
  return beside(x, to_index_tensor(value));
}

}  // namespace

PyObject* get_item(PyObject* tensor, PyObject* index) {
  try {
    ir::Value x = handle_of(tensor);
    eager::CreationGuard creation(creation_for(x));
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
    eager::CreationGuard creation(creation_for(x));
    Indexed indexed = apply_index(x, index);
    ir::Value source = value_to_assign(x, value);
    if (!indexed.advanced) {
      // As in NumPy, leading dims of size 1 of the source are dropped.
      while (source->rank() > indexed.view->rank() && source->size(0) == 1)
        source = ir::op<"select">(source, 0, 0);
      const ir::Value inputs[] = {indexed.view, source};
      eager::dispatch_inplace(ir::registry().get("copy"), inputs, {}, nullptr);
      return 0;
    }
    const ir::OpDef& put = ir::registry().get("index_put");
    std::vector<ir::Value> inputs = {indexed.view};
    inputs.insert(inputs.end(), indexed.indices.begin(), indexed.indices.end());
    if (source->dtype != x->dtype) source = ir::op<"cast">(source, x->dtype);
    // Leading dims of size 1 that the indexed places lack are dropped, as above; a broadcast cannot need
    // them.
    while (source->rank() > 1 && source->size(0) == 1) source = ir::op<"select">(source, 0, 0);
    inputs.push_back(source);
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

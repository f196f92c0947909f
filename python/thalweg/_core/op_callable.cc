#include "op_callable.h"

#include <structmember.h>

#include "eager/dispatch.h"
#include "eager/global_plan.h"
#include "ir/emitter.h"

namespace tw::py {

namespace {

struct OpObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  OpInfo* info;
  PyTypeObject* result_type;  // of several outputs; null for one
  bool inplace;
};

// The tensor that `value` holds, which holds none afterwards: counting a reference up and down costs some 10
// ns.
eager::Tensor take_tensor(ir::Value& value) {
  return eager::Tensor::adopt(static_cast<eager::TensorImpl*>(value.release()));
}

PyObject* wrap_outputs(const OpObject& op, ir::Values& outputs) {
  size_t count = op.info->def->visible_outputs;
  if (count == 1) return api().wrap(take_tensor(outputs[0]));
  if (count == 0) Py_RETURN_NONE;
  PyObject* result = PyStructSequence_New(op.result_type);
  for (size_t i = 0; result && i < count; i++) {
    PyObject* item = api().wrap(take_tensor(outputs[i]));
    if (!item) {
      Py_CLEAR(result);
      break;
    }
    PyStructSequence_SET_ITEM(result, i, item);
  }
  return result;
}

// Whether two tensors share a byte of memory, or are one tensor.
bool overlap(const eager::TensorImpl& a, const eager::TensorImpl& b) {
  if (&a == &b) return true;
  if (a.storage != b.storage || a.count() == 0 || b.count() == 0) return false;
  auto last = [](const eager::TensorImpl& t) {
    int64_t at = t.offset;
    for (size_t d = 0; d < t.sizes.size(); d++) at += (t.sizes[d] - 1) * t.strides[d];
    return at;
  };
  return a.offset <= last(b) && b.offset <= last(a);
}

// Ops that convert no dtypes write results of their own dtype only.
bool converts(const ir::OpDef& def) {
  return def.promotion != ir::Promotion::kNone || def.input_dtype_offset >= 0 || def.schema.tensor_count == 0;
}

// out=: the result is written into a given tensor, which takes the result's shape when it has no elements.
void write_out(const ir::OpDef& def, PyObject* target, const ir::Value& result) {
  TW_CHECK(is_tensor(target), kType, def.name(), ": out must be a Tensor");
  eager::TensorImpl& out = *handle_of(target);
  TW_CHECK(can_cast(result->dtype, out.dtype), kRuntime, def.name(), ": the result has dtype ", result->dtype,
           ", which cannot be written to out of dtype ", out.dtype);
  TW_CHECK(converts(def) || result->dtype == out.dtype, kRuntime, def.name(), ": out must have the dtype ",
           result->dtype, ", got ", out.dtype);
  TW_CHECK(!(eager::tensor_of(result).needs_grad() || out.needs_grad()), kRuntime, def.name(),
           ": out= does not support automatic differentiation, but an argument requires grad");
  if (out.sizes != result->sizes) {
    TW_CHECK(out.count() == 0, kRuntime, def.name(), ": out has shape ", out.sizes, ", the result has shape ",
             result->sizes);
    eager::Tensor fresh = eager::empty(result->sizes, out.dtype);
    out.storage = fresh->storage;
    out.set_geometry(fresh->geometry());
  }
  const ir::Value inputs[] = {ir::Value(&out), result};
  eager::dispatch_inplace(ir::registry().get("copy"), inputs, {}, nullptr);
}

// Lists are joined one after the other: writing one part over another would spoil it.
void check_apart(const ir::OpDef& def, PyObject* out, std::span<const ir::Value> inputs) {
  if (!def.schema.has_lists || !is_tensor(out)) return;
  for (const ir::Value& input : inputs)
    TW_CHECK(!input || !overlap(*handle_of(out), eager::tensor_of(input)), kRuntime, def.name(),
             ": out must not share memory with an input");
}

PyObject* finish_out(const OpObject& op, PyObject* out, ir::Values& outputs) {
  const ir::OpDef& def = *op.info->def;
  if (def.visible_outputs == 1) {
    write_out(def, out, outputs[0]);
  } else {
    TW_CHECK(PyTuple_Check(out) && PyTuple_GET_SIZE(out) == def.visible_outputs, kType, def.name(),
             ": out must be a tuple of ", def.visible_outputs, " tensors");
    for (int i = 0; i < def.visible_outputs; i++) write_out(def, PyTuple_GET_ITEM(out, i), outputs[i]);
  }
  Py_INCREF(out);
  return out;
}

PyObject* op_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* keyword_names) {
  auto& op = *reinterpret_cast<OpObject*>(self);
  Py_ssize_t count = PyVectorcall_NARGS(nargsf);
  try {
    ParsedCall call(*op.info);
    call.parse(args, count, keyword_names);
    call.announce_lifted();
    const ir::OpDef& def = *op.info->def;
    if (op.inplace) {
      eager::dispatch_inplace(def, call.inputs(), call.starts(), call.attrs());
      return api().wrap(eager::as_tensor(call.inputs()[0]));
    }
    ir::Values outputs;
    eager::dispatch(def, call.inputs(), call.starts(), call.attrs(), &outputs);
    if (call.out) {
      check_apart(def, call.out, call.inputs());
      return finish_out(op, call.out, outputs);
    }
    return wrap_outputs(op, outputs);
  } catch (...) {
    translate_exception();
    return nullptr;
  }
}

PyObject* op_get(PyObject* self, PyObject* object, PyObject*) {
  if (object && object != Py_None) return PyMethod_New(self, object);
  Py_INCREF(self);
  return self;
}

PyObject* op_repr(PyObject* self) {
  auto& op = *reinterpret_cast<OpObject*>(self);
  return PyUnicode_FromFormat("<op %s: %s>", op.info->python_name.c_str(), op.info->def->schema.text.c_str());
}

PyObject* op_name(PyObject* self, void*) {
  return PyUnicode_FromString(reinterpret_cast<OpObject*>(self)->info->python_name.c_str());
}

PyObject* op_doc(PyObject* self, void*) {
  const ir::OpDef& def = *reinterpret_cast<OpObject*>(self)->info->def;
  return PyUnicode_FromFormat("%s\n\n%s", def.schema.text.c_str(), def.doc.c_str());
}

PyObject* op_module(PyObject*, void*) { return PyUnicode_FromString("thalweg"); }

// Ops pickle by name.
PyObject* op_reduce(PyObject* self, PyObject*) {
  auto& op = *reinterpret_cast<OpObject*>(self);
  PyObject* module = PyImport_ImportModule("thalweg._core._tensor");
  PyObject* find = module ? PyObject_GetAttrString(module, "op") : nullptr;
  Py_XDECREF(module);
  if (!find) return nullptr;
  return Py_BuildValue("N(si)", find, op.info->def->name(), op.inplace ? 1 : 0);
}

PyObject* sbp_object(const sbp::Sbp& sbp) {
  const char* reduces[] = {"sum", "max", "min"};
  switch (sbp.kind) {
    case sbp::Kind::kBroadcast:
      return Py_BuildValue("(s)", "B");
    case sbp::Kind::kSplit:
      return Py_BuildValue("(siL)", "S", sbp.dim, static_cast<long long>(sbp.unit));
    default:
      return Py_BuildValue("(ss)", "P", reduces[static_cast<int>(sbp.reduce)]);
  }
}

PyObject* sbp_list(const std::vector<sbp::Sbp>& list) {
  PyObject* result = PyList_New(0);
  for (const sbp::Sbp& sbp : list) {
    PyObject* item = sbp_object(sbp);
    PyList_Append(result, item);
    Py_XDECREF(item);
  }
  return result;
}

// op.signatures(args...): the layouts on one axis that the op accepts for these arguments, as a list of
// (inputs, outputs), each a list of ("B",), ("S", dim, unit) or ("P", reduction).
PyObject* op_signatures(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keyword_names) {
  auto& op = *reinterpret_cast<OpObject*>(self);
  try {
    ParsedCall call(*op.info);
    call.parse(args, count, keyword_names);
    const ir::OpDef& def = *op.info->def;
    TW_CHECK(def.sbp_rule && def.infer, kValue, def.name(), ": a composite has no signatures of its own");
    ir::InferContext inferred;
    eager::infer(def, call.inputs(), call.starts(), call.attrs(), inferred);
    const std::span<const ir::Meta> outputs(inferred.outputs.data(), inferred.outputs.size());
    PyObject* result = PyList_New(0);
    for (const sbp::Signature& signature : eager::signatures_of(def, call.inputs(), outputs, call.attrs())) {
      PyObject* item = Py_BuildValue("(NN)", sbp_list(signature.inputs), sbp_list(signature.outputs));
      PyList_Append(result, item);
      Py_XDECREF(item);
    }
    return result;
  } catch (...) {
    translate_exception();
    return nullptr;
  }
}

Dims to_dims(PyObject* sequence) {
  Dims dims;
  PyObject* items = PySequence_Fast(sequence, "on_shard: a list of sizes is wanted");
  if (!items) throw PythonError();
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); i++) {
    int64_t size = 0;
    bool is_int = to_int(PySequence_Fast_GET_ITEM(items, i), &size);
    if (!is_int) Py_DECREF(items);
    TW_CHECK(is_int, kType, "on_shard: sizes are ints");
    dims.push_back(size);
  }
  Py_DECREF(items);
  return dims;
}

std::vector<Dims> to_dims_list(PyObject* list) {
  TW_CHECK(PyList_Check(list), kType, "on_shard: a list of lists of sizes or places is wanted");
  std::vector<Dims> result;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) result.push_back(to_dims(PyList_GET_ITEM(list, i)));
  return result;
}

// op.on_shard(tensors, firsts, sizes, output_firsts, args...): what one device runs of op(args...) in a
// signature; all outputs, the hidden ones too. `tensors` are its parts of the inputs (flattened; None where
// `args` has none or a number), `firsts` where these begin in the whole; `sizes` and `output_firsts` say the
// same of its outputs. All three are None where the tensors are the whole.
PyObject* op_on_shard(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keyword_names) {
  constexpr Py_ssize_t kOwn = 4;
  auto& op = *reinterpret_cast<OpObject*>(self);
  try {
    const ir::OpDef& def = *op.info->def;
    TW_CHECK(count >= kOwn && PyList_Check(args[0]), kType, def.name(),
             ": on_shard takes a list of tensors, three of places and sizes, and the op's arguments");
    ParsedCall call(*op.info);
    call.parse(args + kOwn, count - kOwn, keyword_names);
    SmallVector<ir::Value, 4> inputs(call.inputs().begin(), call.inputs().end());
    TW_CHECK(PyList_GET_SIZE(args[0]) == static_cast<Py_ssize_t>(inputs.size()), kValue, def.name(),
             ": on_shard: ", inputs.size(), " tensors are wanted, got ", PyList_GET_SIZE(args[0]));
    ir::ShardContext shard;
    for (size_t i = 0; i < inputs.size(); i++) {
      shard.whole_inputs.push_back(inputs[i] ? inputs[i]->sizes : Dims());
      PyObject* tensor = PyList_GET_ITEM(args[0], static_cast<Py_ssize_t>(i));
      if (is_tensor(tensor)) inputs[i] = handle_of(tensor);
      shard.inputs.push_back(inputs[i] ? inputs[i]->sizes : Dims());
    }
    if (def.localize && args[2] != Py_None) {
      ir::InferContext whole;
      eager::infer(def, call.inputs(), call.starts(), call.attrs(), whole);
      for (const ir::Meta& meta : whole.outputs) shard.whole_outputs.push_back(meta.sizes);
      shard.first_inputs = to_dims_list(args[1]);
      shard.outputs = to_dims_list(args[2]);
      shard.first_outputs = to_dims_list(args[3]);
      shard.attributes = call.attrs();
      def.localize(shard);
    }
    ir::Values outputs;
    eager::dispatch(def, {inputs.data(), inputs.size()}, call.starts(), call.attrs(), &outputs);
    PyObject* result = PyTuple_New(static_cast<Py_ssize_t>(outputs.size()));
    for (size_t i = 0; result && i < outputs.size(); i++) {
      PyObject* output = outputs[i] ? api().wrap(eager::as_tensor(outputs[i])) : Py_NewRef(Py_None);
      if (!output) Py_CLEAR(result);
      if (result) PyTuple_SET_ITEM(result, static_cast<Py_ssize_t>(i), output);
    }
    return result;
  } catch (...) {
    translate_exception();
    return nullptr;
  }
}

PyGetSetDef kOpGetSet[] = {{"__name__", op_name, nullptr, nullptr, nullptr},
                           {"__qualname__", op_name, nullptr, nullptr, nullptr},
                           {"__module__", op_module, nullptr, nullptr, nullptr},
                           {"__doc__", op_doc, nullptr, nullptr, nullptr},
                           {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef kOpMethods[] = {
    {"__reduce__", op_reduce, METH_NOARGS, nullptr},
    {"signatures", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(op_signatures)),
     METH_FASTCALL | METH_KEYWORDS, "The SBP signatures that the op accepts for these arguments."},
    {"on_shard", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(op_on_shard)),
     METH_FASTCALL | METH_KEYWORDS,
     "The op as one device runs it in a signature, on its parts of the tensors."},
    {nullptr, nullptr, 0, nullptr}};

PyTypeObject make_op_type() {
  PyTypeObject type = {};
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(&type), 1);
  type.tp_name = "thalweg.Op";
  type.tp_basicsize = sizeof(OpObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
  type.tp_vectorcall_offset = offsetof(OpObject, vectorcall);
  type.tp_call = PyVectorcall_Call;
  type.tp_descr_get = op_get;
  type.tp_repr = op_repr;
  type.tp_getset = kOpGetSet;
  type.tp_methods = kOpMethods;
  type.tp_doc = "An operation on tensors.";
  return type;
}

PyTypeObject g_op_type = make_op_type();

PyTypeObject* make_result_type(const ir::OpDef& def) {
  // Lives as long as the process, as the strings it refers to do.
  auto* fields = new std::vector<PyStructSequence_Field>;
  for (int i = 0; i < def.visible_outputs; i++) fields->push_back({def.schema.outputs[i].c_str(), nullptr});
  fields->push_back({nullptr, nullptr});
  auto* name = new std::string("thalweg.return_types." + def.schema.name);
  PyStructSequence_Desc description{name->c_str(), nullptr, fields->data(), def.visible_outputs};
  return PyStructSequence_NewType(&description);
}

// An operand of Python's operators as a value; false where it is neither tensor nor number.
bool to_operand(PyObject* object, ir::Value* value) {
  if (is_tensor(object)) {
    *value = handle_of(object);
    return true;
  }
  if (is_traced_number(object)) {
    *value = traced_operand(object);
    return true;
  }
  Scalar number;
  if (!to_scalar(object, &number)) return false;
  *value = eager::number_operand(number);
  return true;
}

}  // namespace

bool init_op_type() { return PyType_Ready(&g_op_type) == 0; }

PyObject* make_op(const ir::OpDef& def, bool inplace) {
  auto* op = PyObject_New(OpObject, &g_op_type);
  if (!op) return nullptr;
  op->vectorcall = op_vectorcall;
  op->inplace = inplace;
  op->info = new OpInfo;
  op->info->def = &def;
  op->info->python_name = inplace ? def.schema.name + "_" : def.schema.name;
  for (const ir::Param& param : def.schema.params)
    op->info->names.push_back(PyUnicode_InternFromString(param.name.c_str()));
  op->result_type = def.visible_outputs > 1 ? make_result_type(def) : nullptr;
  return reinterpret_cast<PyObject*>(op);
}

PyObject* call_binary(const ir::OpDef* def, PyObject* a, PyObject* b, bool inplace) {
  try {
    ir::Value inputs[2];
    if (!to_operand(a, &inputs[0]) || !to_operand(b, &inputs[1])) Py_RETURN_NOTIMPLEMENTED;
    alignas(16) unsigned char attrs[128];
    if (def->attr_type) {
      TW_ASSERT(def->attr_type->size, <=, sizeof attrs);
      def->attr_type->copy(attrs, def->defaults());
    }
    struct Destroy {
      const ir::StructType* type;
      void* attrs;
      ~Destroy() {
        if (type) type->destroy(attrs);
      }
    } destroy{def->attr_type, attrs};
    if (inplace) {
      eager::dispatch_inplace(*def, inputs, {}, attrs);
      Py_INCREF(a);
      return a;
    }
    ir::Values outputs;
    eager::dispatch(*def, inputs, {}, attrs, &outputs);
    return api().wrap(take_tensor(outputs[0]));
  } catch (...) {
    translate_exception();
    return nullptr;
  }
}

PyObject* call_unary(const ir::OpDef* def, PyObject* a) {
  try {
    const ir::Value input(handle_of(a));
    ir::Values outputs;
    eager::dispatch(*def, {&input, 1}, {}, nullptr, &outputs);
    return api().wrap(take_tensor(outputs[0]));
  } catch (...) {
    translate_exception();
    return nullptr;
  }
}

}  // namespace tw::py

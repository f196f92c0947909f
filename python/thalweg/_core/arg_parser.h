// From Python arguments to the inputs and attributes of an op, driven by its schema.
#pragma once

#include "ir/graph.h"
#include "ir/op_def.h"
#include "tensor_api.h"

namespace tw::py {

// What an op needs to be called from Python, made once.
struct OpInfo {
  const ir::OpDef* def = nullptr;
  std::vector<PyObject*> names;  // interned, one for each parameter
  std::string python_name;       // with the underscore of an in-place op; used in messages
};

// The arguments of one call. Attributes start as the defaults.
class ParsedCall {
 public:
  explicit ParsedCall(const OpInfo& info);
  ~ParsedCall();
  ParsedCall(const ParsedCall&) = delete;
  ParsedCall& operator=(const ParsedCall&) = delete;

  // Throws PythonError (a TypeError is set) or Error. Takes `out=` and `generator=` besides the schema's
  // parameters.
  void parse(PyObject* const* args, Py_ssize_t count, PyObject* keyword_names);

  std::span<const ir::Value> inputs() const { return {inputs_.data(), inputs_.size()}; }
  std::span<const int> starts() const { return {starts_.data(), starts_.size()}; }
  void* attrs() { return attrs_; }
  // Attributes that a traced program gets anew in every run; hands them to the tracer for the op's node.
  void announce_lifted();
  PyObject* out = nullptr;  // borrowed; null when not given

 private:
  static constexpr int kMaxParams = 32;
  void assign_positional(PyObject* const* args, Py_ssize_t count);
  void assign_keyword(PyObject* name, PyObject* value);
  void convert(size_t param_index, PyObject* object);
  void convert_attr(size_t param_index, PyObject* object);
  // For a traced number, or a list that holds some: notes it, and returns what stands for it now (new
  // reference).
  PyObject* lift(size_t param_index, PyObject* object);
  void convert_tensor(const ir::Param& param, PyObject* object);
  void convert_tensor_list(const ir::Param& param, PyObject* object);
  void set_generator(PyObject* object);
  [[noreturn]] void type_error(const ir::Param& param, const char* wanted, PyObject* object);
  [[noreturn]] void call_error(const std::string& message);

  const OpInfo& info_;
  const ir::OpDef& def_;
  PyObject* slots_[kMaxParams];  // one for each parameter; null where not given
  PyObject* varargs_ = nullptr;  // owned tuple for int[]... given as separate arguments
  SmallVector<ir::Value, 4> inputs_;
  SmallVector<int, 8> starts_;
  std::vector<ir::Lifted> lifted_;
  void* attrs_ = nullptr;
  alignas(16) unsigned char inline_[384];
};

// Numbers of a traced program (thalweg.jit.numbers.Number): their number in the graph, and their value now.
void set_traced_number_type(PyObject* type);
bool is_traced_number(PyObject* object);
int traced_number(PyObject* object, Scalar* now);
// A traced number as an operand.
ir::Value traced_operand(PyObject* object);

// A Python (or NumPy) number; false when the object is none. Does not take tensors.
bool to_scalar(PyObject* object, Scalar* value);
// An int, anything with __index__, or an integer tensor of one element; false otherwise.
bool to_int(PyObject* object, int64_t* value);
// A list, tuple or Size of ints, or a tensor of ints of rank 1; false otherwise.
bool to_int_list(PyObject* object, IntList* list);

// A generator crosses as a capsule with this name, in the attribute `_handle`.
inline constexpr const char* kGeneratorCapsule = "thalweg.Generator";

}  // namespace tw::py

// The Python type of an op: one vectorcall type for all of them, usable as a function and as a method.
#pragma once

#include "arg_parser.h"

namespace tw::py {

// Makes the type ready; false with a Python error set on failure.
bool init_op_type();
// A new op object; `inplace` is the name_ form, which writes into its first argument and returns it.
PyObject* make_op(const ir::OpDef& def, bool inplace);

// a OP b for Python's operators: new reference, Py_NotImplemented where an operand is neither tensor nor
// number.
PyObject* call_binary(const ir::OpDef* def, PyObject* a, PyObject* b, bool inplace);
PyObject* call_unary(const ir::OpDef* def, PyObject* a);

// x[index] and x[index] = value. New reference; -1 on error.
PyObject* get_item(PyObject* tensor, PyObject* index);
int set_item(PyObject* tensor, PyObject* index, PyObject* value);

}  // namespace tw::py

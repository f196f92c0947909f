# dtypes as Python has them, and their way into the core and back. Part of _tensor.pyx.

cdef class dtype:
    """The type of a tensor's elements: tw.float32, tw.int64, ..."""

    cdef DType code
    cdef readonly str name
    cdef readonly int itemsize
    cdef readonly bint is_floating_point
    cdef readonly bint is_complex
    cdef readonly bint is_signed

    def __init__(self):
        raise TypeError("dtype: dtypes cannot be made; use tw.float32, tw.int64, ...")

    def __repr__(self):
        return "thalweg." + self.name

    def __reduce__(self):
        return (dtype_by_name, (self.name,))


cdef list _dtypes = []


cdef dtype _make_dtype(DType code):
    cdef dtype result = dtype.__new__(dtype)
    result.code = code
    result.name = name_of(code).decode()
    result.itemsize = size_of(code)
    result.is_floating_point = DType.kFloat16 <= code <= DType.kFloat64
    result.is_complex = code >= DType.kComplex64
    result.is_signed = code != DType.kBool and code != DType.kUInt8
    return result


for _code in range(12):
    _dtypes.append(_make_dtype(<DType><int>_code))


def dtype_by_name(str name):
    """The dtype of a name such as "float32"."""
    for candidate in _dtypes:
        if (<dtype>candidate).name == name:
            return candidate
    raise ValueError(f"dtype: there is no dtype named {name!r}")


def all_dtypes():
    """All dtypes, from bool to complex128."""
    return tuple(_dtypes)


cdef PyObject* _wrap_dtype(DType code) noexcept:
    result = _dtypes[<int>code]
    Py_INCREF(result)
    return <PyObject*>result


# Python's types stand for the dtypes of their own width, whatever the default dtype is.
cdef dict _python_dtypes = {
    bool: _dtypes[<int>DType.kBool],
    int: _dtypes[<int>DType.kInt64],
    float: _dtypes[<int>DType.kFloat64],
    complex: _dtypes[<int>DType.kComplex128],
}


cdef cbool _unwrap_dtype(PyObject* given, DType* code) noexcept:
    given_object = <object>given
    if type(given_object) is dtype:
        code[0] = (<dtype>given_object).code
        return True
    if type(given_object) is type and given_object in _python_dtypes:
        code[0] = (<dtype>_python_dtypes[given_object]).code
        return True
    return False

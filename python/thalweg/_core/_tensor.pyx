# distutils: language = c++
# cython: language_level=3, embedsignature=True
"""The Tensor type and the ops: what every line of user code goes through. No logic lives here."""

from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t, uint32_t, uintptr_t
from libcpp cimport bool as cbool
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.utility cimport move

cdef extern from "Python.h":
    void PyType_Modified(PyTypeObject*)
    Py_ssize_t Py_REFCNT(PyObject*)
    void Py_CLEAR(PyObject*)
    object PyObject_GenericGetDict(object, void*)
    object PyTuple_New(Py_ssize_t)
    void PyTuple_SET_ITEM(object, Py_ssize_t, object)

cdef extern from "base/dtype.h" namespace "tw":
    cpdef enum class DType "tw::DType"(unsigned char):
        kBool, kUInt8, kInt8, kInt16, kInt32, kInt64
        kFloat16, kBFloat16, kFloat32, kFloat64, kComplex64, kComplex128
    int size_of(DType) noexcept
    const char* name_of(DType) noexcept

cdef extern from "base/dims.h" namespace "tw":
    cdef cppclass Dims:
        size_t size() noexcept
        int64_t& operator[](size_t) noexcept

cdef extern from "device/backend.h" namespace "tw::device":
    cdef cppclass Device:
        int index
    string device_name "tw::device::name_of"(Device)

cdef extern from "eager/tensor.h" namespace "tw::eager":
    cdef cppclass Storage:
        uint32_t version
    cdef cppclass StorageRef "tw::Ref<tw::eager::Storage>":
        Storage* get() noexcept
    cdef cppclass TensorImpl:
        DType dtype
        Dims sizes
        Dims strides
        int64_t offset
        cbool contiguous
        cbool requires_grad
        cbool inference
        uint32_t output_nr
        void* python
        StorageRef storage
        int64_t count() except +
        int64_t rank() noexcept
        void* data() except +
        cbool needs_grad() noexcept
        cbool is_leaf() noexcept
        Device device() noexcept
    cdef cppclass TensorRef "tw::eager::Tensor":
        TensorRef()
        TensorImpl* get() noexcept

cdef extern from "ir/registry.h" namespace "tw::ir":
    cdef cppclass OpDef:
        pass
    cdef cppclass OpRegistry:
        const OpDef& get(string_view) except +
        const OpDef* find(string_view) noexcept
    OpRegistry& registry() noexcept

cdef extern from "eager/dispatch.h" namespace "tw::eager":
    void initialize() except +

cdef extern from "arg_parser.h" namespace "tw::py":
    void set_traced_number_type_ "tw::py::set_traced_number_type"(PyObject*)

cdef extern from "tensor_api.h" namespace "tw::py":
    cdef cppclass TensorApi:
        PyTypeObject* type
        Py_ssize_t handle_offset
        PyObject* (*wrap)(TensorRef)
        PyObject* (*wrap_dtype)(DType)
        cbool (*unwrap_dtype)(PyObject*, DType*)
        PyObject* exceptions
    TensorApi& api() noexcept
    object api_capsule()

cdef extern from "op_callable.h" namespace "tw::py":
    cbool init_op_type() except *
    object make_op(const OpDef&, cbool)
    object call_binary(const OpDef*, object, object, cbool)
    object call_unary(const OpDef*, object)
    object get_item(object, object)
    int set_item(object, object, object) except -1

initialize()
init_op_type()


include "_dtype.pxi"
include "_size.pxi"


cdef dict _slots = {}

# Set while the core wraps a tensor of its own: __cinit__ then leaves the handle alone.
cdef bint _wrapping = False
cdef object _empty = None

# A number as the exponent; pow() says why.
cdef int _check_exponent(object base, object exponent) except -1:
    if type(exponent) is int and exponent < 0 and not (base.dtype.is_floating_point or base.dtype.is_complex):
        raise RuntimeError(f"pow: integers have no negative powers, got dtype {base.dtype} and exponent {exponent}")
    return 0

cdef const OpDef* _op(const char* name):
    return registry().find(string_view(name))

cdef const OpDef* _add = _op("add")
cdef const OpDef* _sub = _op("sub")
cdef const OpDef* _mul = _op("mul")
cdef const OpDef* _div = _op("true_divide")
cdef const OpDef* _floor_divide = _op("floor_divide")
cdef const OpDef* _remainder = _op("remainder")
cdef const OpDef* _pow = _op("pow")
cdef const OpDef* _matmul = _op("matmul")
cdef const OpDef* _neg = _op("neg")
cdef const OpDef* _abs = _op("abs")
cdef const OpDef* _invert = _op("bitwise_not")
cdef const OpDef* _and = _op("bitwise_and")
cdef const OpDef* _or = _op("bitwise_or")
cdef const OpDef* _xor = _op("bitwise_xor")
cdef const OpDef* _lshift = _op("bitwise_left_shift")
cdef const OpDef* _rshift = _op("bitwise_right_shift")
cdef const OpDef* _lt = _op("lt")
cdef const OpDef* _le = _op("le")
cdef const OpDef* _gt = _op("gt")
cdef const OpDef* _ge = _op("ge")
cdef const OpDef* _eq = _op("eq")
cdef const OpDef* _ne = _op("ne")


cdef class Tensor:
    """A multi-dimensional array that can record operations for automatic differentiation."""

    cdef TensorRef handle
    # The __dict__, made when first used: tp_dictoffset points here. Cython's own would be made with every tensor.
    cdef PyObject* attributes
    cdef object __weakref__

    __array_priority__ = 1000  # NumPy leaves mixed operators to us

    def __cinit__(self, *args, **kwargs):
        if not _wrapping and _empty is not None:
            self.handle = (<Tensor>_empty).handle

    def __dealloc__(self):
        cdef TensorImpl* impl = self.handle.get()
        if impl != NULL and impl.python == <void*>self:
            impl.python = NULL
        Py_CLEAR(self.attributes)

    @property
    def __dict__(self):
        return PyObject_GenericGetDict(self, NULL)

    @staticmethod
    def _make_subclass(cls, Tensor data not None, bint requires_grad=False):
        """A tensor of a subclass over the memory of `data`, off its tape."""
        cdef Tensor source = data.detach()
        cdef Tensor result = Tensor.__new__(cls)  # cls.__new__ may be the one that called
        result.handle = source.handle
        result.handle.get().python = <void*>result
        result.handle.get().requires_grad = requires_grad
        return result

    @property
    def shape(self):
        """The sizes, as a Size."""
        return Size(_tuple_of(self.handle.get().sizes))

    @property
    def dtype(self):
        """The dtype of the elements."""
        return _dtypes[<int>self.handle.get().dtype]

    @property
    def ndim(self):
        """The number of dims."""
        return self.handle.get().rank()

    @property
    def _device_name(self):
        return device_name(self.handle.get().device()).decode()

    @property
    def requires_grad(self):
        """Whether gradients are computed for this tensor."""
        return self.handle.get().needs_grad()

    @requires_grad.setter
    def requires_grad(self, bint value):
        cdef TensorImpl* impl = self.handle.get()
        if not impl.is_leaf():
            if not value:
                raise RuntimeError("requires_grad: only that of leaf tensors can be switched off; use detach()")
            return
        if value and not (_dtypes[<int>impl.dtype].is_floating_point or _dtypes[<int>impl.dtype].is_complex):
            raise RuntimeError(f"requires_grad: only floating and complex tensors can, this one is {self.dtype}")
        if value and impl.inference:
            raise RuntimeError("requires_grad: a tensor made in inference mode cannot; clone() it outside first")
        impl.requires_grad = value

    @property
    def is_leaf(self):
        """True for tensors that no recorded operation has made."""
        return self.handle.get().is_leaf()

    @property
    def output_nr(self):
        """Which output of grad_fn this is."""
        return self.handle.get().output_nr

    @property
    def _version(self):
        """How often the memory has been written in place."""
        return self.handle.get().storage.get().version

    def is_inference(self):
        """True for a tensor made in inference mode."""
        return self.handle.get().inference

    def size(self, dim=None):
        """The sizes, or that of one dim."""
        cdef TensorImpl* impl = self.handle.get()
        if dim is None:
            return Size(_tuple_of(impl.sizes))
        return _tuple_of(impl.sizes)[_checked_dim(dim, impl.rank(), "size")]

    def stride(self, dim=None):
        """The steps in memory, in elements, of all dims or of one."""
        cdef TensorImpl* impl = self.handle.get()
        if dim is None:
            return _tuple_of(impl.strides)
        return _tuple_of(impl.strides)[_checked_dim(dim, impl.rank(), "stride")]

    def dim(self):
        """The number of dims."""
        return self.handle.get().rank()

    def numel(self):
        """The number of elements."""
        return self.handle.get().count()

    def element_size(self):
        """The size of an element in bytes."""
        return size_of(self.handle.get().dtype)

    def storage_offset(self):
        """Where the tensor begins in its storage, in elements."""
        return self.handle.get().offset

    def data_ptr(self):
        """The address of the first element."""
        return <uintptr_t>self.handle.get().data()

    def __len__(self):
        if self.handle.get().rank() == 0:
            raise TypeError("len: a 0-dim tensor has no length")
        return self.handle.get().sizes[0]

    def __hash__(self):
        return <Py_ssize_t><void*>self >> 4

    # Python finds these through slots of the type, so they cannot be attached; thalweg.frontend supplies them.
    def __repr__(self): return _slots["repr"](self)
    def __bool__(self): return _slots["bool"](self)
    def __int__(self): return _slots["int"](self)
    def __float__(self): return _slots["float"](self)
    def __index__(self): return _slots["index"](self)
    def __iter__(self): return _slots["iter"](self)
    def __contains__(self, element): return _slots["contains"](self, element)

    def __getitem__(self, index):
        return get_item(self, index)

    def __setitem__(self, index, value):
        set_item(self, index, value)

    def __add__(self, other): return call_binary(_add, self, other, False)
    def __radd__(self, other): return call_binary(_add, other, self, False)
    def __iadd__(self, other): return call_binary(_add, self, other, True)
    def __sub__(self, other): return call_binary(_sub, self, other, False)
    def __rsub__(self, other): return call_binary(_sub, other, self, False)
    def __isub__(self, other): return call_binary(_sub, self, other, True)
    def __mul__(self, other): return call_binary(_mul, self, other, False)
    def __rmul__(self, other): return call_binary(_mul, other, self, False)
    def __imul__(self, other): return call_binary(_mul, self, other, True)
    def __truediv__(self, other): return call_binary(_div, self, other, False)
    def __rtruediv__(self, other): return call_binary(_div, other, self, False)
    def __itruediv__(self, other): return call_binary(_div, self, other, True)
    def __floordiv__(self, other): return call_binary(_floor_divide, self, other, False)
    def __rfloordiv__(self, other): return call_binary(_floor_divide, other, self, False)
    def __ifloordiv__(self, other): return call_binary(_floor_divide, self, other, True)
    def __mod__(self, other): return call_binary(_remainder, self, other, False)
    def __rmod__(self, other): return call_binary(_remainder, other, self, False)
    def __imod__(self, other): return call_binary(_remainder, self, other, True)
    def __rpow__(self, other, modulo): return call_binary(_pow, other, self, False)

    def __pow__(self, other, modulo):
        _check_exponent(self, other)
        return call_binary(_pow, self, other, False)

    def __ipow__(self, other):
        _check_exponent(self, other)
        return call_binary(_pow, self, other, True)

    def __matmul__(self, other): return call_binary(_matmul, self, other, False)
    def __rmatmul__(self, other): return call_binary(_matmul, other, self, False)
    def __and__(self, other): return call_binary(_and, self, other, False)
    def __rand__(self, other): return call_binary(_and, other, self, False)
    def __iand__(self, other): return call_binary(_and, self, other, True)
    def __or__(self, other): return call_binary(_or, self, other, False)
    def __ror__(self, other): return call_binary(_or, other, self, False)
    def __ior__(self, other): return call_binary(_or, self, other, True)
    def __xor__(self, other): return call_binary(_xor, self, other, False)
    def __rxor__(self, other): return call_binary(_xor, other, self, False)
    def __ixor__(self, other): return call_binary(_xor, self, other, True)
    def __lshift__(self, other): return call_binary(_lshift, self, other, False)
    def __rlshift__(self, other): return call_binary(_lshift, other, self, False)
    def __ilshift__(self, other): return call_binary(_lshift, self, other, True)
    def __rshift__(self, other): return call_binary(_rshift, self, other, False)
    def __rrshift__(self, other): return call_binary(_rshift, other, self, False)
    def __irshift__(self, other): return call_binary(_rshift, self, other, True)
    def __lt__(self, other): return call_binary(_lt, self, other, False)
    def __le__(self, other): return call_binary(_le, self, other, False)
    def __gt__(self, other): return call_binary(_gt, self, other, False)
    def __ge__(self, other): return call_binary(_ge, self, other, False)
    def __eq__(self, other): return call_binary(_eq, self, other, False)
    def __ne__(self, other): return call_binary(_ne, self, other, False)
    def __neg__(self): return call_unary(_neg, self)
    def __pos__(self): return self
    def __abs__(self): return call_unary(_abs, self)
    def __invert__(self): return call_unary(_invert, self)


cdef int64_t _checked_dim(dim, int64_t rank, str op) except? -1:
    cdef int64_t value = dim
    if not -rank <= value < rank:
        raise IndexError(f"{op}: dim must be in [{-rank}, {rank - 1}], got {value}")
    return value


cdef PyObject* _wrap(TensorRef tensor) noexcept:
    global _wrapping
    cdef TensorImpl* impl = tensor.get()
    cdef PyObject* known = <PyObject*>impl.python
    cdef Tensor result
    # An object whose count is zero is being torn down and must not come back.
    if known != NULL and Py_REFCNT(known) > 0:
        Py_INCREF(<object>known)
        return known
    _wrapping = True
    result = Tensor.__new__(Tensor)
    _wrapping = False
    result.handle = move(tensor)
    impl.python = <void*>result
    Py_INCREF(result)
    return <PyObject*>result


cdef _init_api():
    global _empty
    cdef Tensor probe = Tensor.__new__(Tensor)
    api().type = <PyTypeObject*>Tensor
    (<PyTypeObject*>Tensor).tp_dictoffset = <char*>&probe.attributes - <char*><void*>probe
    PyType_Modified(<PyTypeObject*>Tensor)
    api().handle_offset = <char*>&probe.handle - <char*><void*>probe
    api().wrap = _wrap
    api().wrap_dtype = _wrap_dtype
    api().unwrap_dtype = _unwrap_dtype


_init_api()
_api = api_capsule()


def set_exceptions(dict by_kind):
    """Which Python exception each kind of core error becomes."""
    Py_INCREF(by_kind)
    api().exceptions = <PyObject*>by_kind


def set_traced_number_type(type number_type not None):
    """The class of numbers that traced programs get anew in every call."""
    set_traced_number_type_(<PyObject*>number_type)


def set_empty(Tensor empty not None):
    """The tensor that a bare Tensor() stands for."""
    global _empty
    _empty = empty


def op(str name, bint inplace=False):
    """The op object of a registered op; `inplace` for its name_ form."""
    cdef bytes text = name.encode()
    cdef const OpDef* found = registry().find(string_view(<const char*>text))
    if found == NULL:
        raise ValueError(f"op: there is no op named {name!r}")
    key = (name, inplace)
    if key not in _ops:
        _ops[key] = make_op(found[0], inplace)
    return _ops[key]


_ops = {}


def set_slots(**functions):
    """Supplies what repr(), bool(), int(), float(), iter(), `in` and index use do with a tensor."""
    _slots.update(functions)


def attach(str name, value):
    """Makes `value` a method or property of Tensor."""
    (<dict>(<PyTypeObject*>Tensor).tp_dict)[name] = value
    PyType_Modified(<PyTypeObject*>Tensor)

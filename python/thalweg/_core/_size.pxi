# Shapes as Python has them. Part of _tensor.pyx.

class Size(tuple):
    """The shape of a tensor: a tuple of ints that knows its product."""

    __slots__ = ()

    def numel(self):
        """The number of elements of a tensor of this shape."""
        result = 1
        for size in self:
            result *= size
        return result

    def __repr__(self):
        return f"thalweg.Size({list(self)})"

    def __getitem__(self, index):
        item = tuple.__getitem__(self, index)
        return Size(item) if isinstance(index, slice) else item

    def __add__(self, other):
        return Size(tuple.__add__(self, tuple(other)))


cdef tuple _tuple_of(Dims& dims):
    cdef size_t i
    cdef object item  # untyped, it would be inferred as a C integer, and each use below would make an object of its own
    result = PyTuple_New(<Py_ssize_t>dims.size())
    for i in range(dims.size()):
        item = dims[i]
        Py_INCREF(item)
        PyTuple_SET_ITEM(result, <Py_ssize_t>i, item)
    return result

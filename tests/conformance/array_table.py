"""How to call each function of the array API standard: name -> a function of a Draw that gives (args, kwargs)."""

import numpy as np

from .array_draws import (
    ALL,
    COMPLEX,
    FLOATING,
    INTEGERS,
    NUMERIC,
    REAL,
    REAL_NUMERIC,
    WITHOUT_UNSIGNED,
    Dtype,
    along_axis,
    binary,
    reduction,
    unary,
)

BITS = ("bool", *INTEGERS)


def _like(d):
    return (d.array(d.choice(ALL), d.shape()),), {"dtype": d.maybe(Dtype(d.choice(ALL)))}


def _sized(d):
    shape = d.shape()
    size = shape[0] if len(shape) == 1 and d.integer(0, 1) else shape
    return (size,), {"dtype": d.maybe(Dtype(d.choice(ALL)))}


def _full(d):
    dtype = d.choice(ALL)
    return (d.shape(), d.number(dtype)), {"dtype": d.maybe(Dtype(dtype))}


def _arange(d):
    whole = d.integer(0, 1)
    start, stop, step = (d.integer(-9, 9) if whole else d.integer(-36, 36) / 4 for _ in range(3))
    given = {"step": step} if step else {}
    dtype = d.maybe(Dtype(d.choice(("int64", "int32", "float32", "float64") if whole else REAL)))
    return ((start,) if d.integer(0, 3) == 0 else (start, stop)), (given if d.integer(0, 1) else {}) | {"dtype": dtype}


def _linspace(d):
    start, stop = d.integer(-40, 40) / 8, d.integer(-40, 40) / 8
    return (start, stop, d.integer(0, 6)), {"endpoint": bool(d.integer(0, 1)), "dtype": d.maybe(Dtype(d.choice(REAL)))}


def _eye(d):
    sizes = (d.integer(0, 4),) if d.integer(0, 1) else (d.integer(0, 4), d.choice((None, d.integer(0, 4))))
    return sizes, {"k": d.integer(-5, 5), "dtype": d.maybe(Dtype(d.choice(ALL)))}


def _meshgrid(d):
    dtype = d.choice(NUMERIC)
    arrays = tuple(d.array(dtype, (d.integer(0, 3),)) for _ in range(d.integer(1, 3)))
    return arrays, {"indexing": d.choice(("xy", "ij"))}


def _triangle(d):
    return (d.array(d.choice(ALL), d.shape(2, 4)),), {"k": d.integer(-4, 4)}


def _asarray(d):
    dtype = d.choice(ALL)
    x = d.array(dtype, d.shape(smallest=1))
    return (x.tolist() if d.integer(0, 1) else x,), {"dtype": Dtype(dtype)}


def _astype(d):
    dtype = d.choice(ALL)
    targets = ALL if dtype not in COMPLEX else (*COMPLEX, "bool")
    target = d.choice([t for t in targets if not (t == "uint8" and dtype in WITHOUT_UNSIGNED)])
    return (d.array(dtype, d.shape()), Dtype(target)), {"copy": bool(d.integer(0, 1))}


def _broadcast_arrays(d):
    return tuple(d.array(d.choice(ALL), s) for s in d.broadcastable(d.integer(1, 3))), {}


def _broadcast_to(d):
    small, big = d.broadcastable(2)
    return (d.array(d.choice(ALL), small), np.broadcast_shapes(small, big)), {}


def _clip(d):
    dtype = d.choice(REAL_NUMERIC)
    shapes = d.broadcastable(2)
    x = d.array(dtype, np.broadcast_shapes(*shapes), d.integer(0, 1))
    low, high = (d.choice((None, b, d.array(dtype, shapes[0]))) for b in (1, 3))
    return (x, low, high), {}


def _joined(d, same_size):
    dtypes = d.promotable(ALL, d.integer(1, 3))
    shape, axis = d.shape(low=1), 0
    if same_size:
        return ([d.array(t, shape) for t in dtypes],), {"axis": d.axis(len(shape) + 1)}
    axis = d.axis(len(shape))
    shapes = [list(shape) for _ in dtypes]
    for s in shapes:
        s[axis] = d.integer(0, 3)
    return ([d.array(t, tuple(s)) for t, s in zip(dtypes, shapes)],), {"axis": d.maybe(axis)}


def _permutation(d):
    x = d.array(d.choice(ALL), d.shape())
    return (x, tuple(int(a) for a in d.rng.permutation(x.ndim))), {}


def _moveaxis(d):
    x = d.array(d.choice(ALL), d.shape(low=1))
    if d.integer(0, 1):
        return (x, d.axis(x.ndim), d.axis(x.ndim)), {}
    count = d.integer(1, x.ndim)
    return (x, *(tuple(int(a) for a in d.rng.permutation(x.ndim)[:count]) for _ in range(2))), {}


def _reshape(d):
    x = d.array(d.choice(ALL), d.choice(((2, 3), (6,), (4, 3), (1,), (), (0, 3), (2, 1, 3))))
    options = [(-1,), (x.size, 1), (1, x.size), (*x.shape, 1)]
    return (x, d.choice([o for o in options if x.size or -1 not in o])), {"copy": d.choice((None, True))}


def _repeat(d):
    x = d.array(d.choice(ALL), d.shape(low=1))
    axis = d.maybe(d.axis(x.ndim))
    size = x.size if axis is None else x.shape[axis]
    counts = d.integer(0, 3) if d.integer(0, 1) else d.rng.integers(0, 4, size).astype(d.choice(("int32", "int64")))
    return (x, counts), {"axis": axis}


def _roll(d):
    x = d.array(d.choice(ALL), d.shape(low=1))
    axes = d.axes(x.ndim)
    many = isinstance(axes, tuple) and d.integer(0, 1)
    return (x, tuple(d.integer(-5, 5) for _ in axes) if many else d.integer(-5, 5)), {"axis": axes}


def _repetitions(d):
    return tuple(d.integer(0, 3) for _ in range(d.integer(0, 4)))


def _squeeze(d):
    shape = list(d.shape(low=1))
    places = [int(a) for a in d.rng.permutation(len(shape))[: d.integer(1, len(shape))]]
    for a in places:
        shape[a] = 1
    return (d.array(d.choice(ALL), tuple(shape)), places[0] if d.integer(0, 1) else tuple(places)), {}


def _take(d):
    x = d.array(d.choice(ALL), d.shape(low=1, smallest=1))
    axis = d.axis(x.ndim)
    indices = d.rng.integers(-x.shape[axis], x.shape[axis], d.shape(1, 1)).astype(d.choice(("int8", "int32", "int64")))
    return (x, indices), {} if x.ndim == 1 and d.integer(0, 1) else {"axis": axis}


def _take_along_axis(d):
    x = d.array(d.choice(ALL), d.shape(low=1, smallest=1))
    axis, shape = d.axis(x.ndim), list(x.shape)
    shape[axis] = d.integer(1, 4)
    indices = d.rng.integers(-x.shape[axis], x.shape[axis], shape).astype(d.choice(("int32", "int64")))
    return (x, indices), {"axis": axis}


def _matmul(d):
    (a, b), (m, k, n) = d.promotable(NUMERIC, 2), (d.integer(0, 4) for _ in range(3))
    left, right = d.broadcastable(2)
    x, y = d.choice((((k,), (k,)), ((m, k), (k,)), ((k,), (k, n)), ((*left, m, k), (*right, k, n))))
    return (d.array(a, x), d.array(b, y)), {}


def _tensordot(d):
    (a, b), (m, k, n) = d.promotable(NUMERIC, 2), (d.integer(0, 3) for _ in range(3))
    x, y, axes = d.choice(
        (((m, k), (k, n), 1), ((m, k, n), (k, n), 2), ((m,), (n,), 0), ((m, k), (n, k), ((1,), (1,))))
    )
    return (d.array(a, x), d.array(b, y)), {"axes": axes}


def _vecdot(d):
    (a, b), (x, y), k = d.promotable(NUMERIC, 2), d.broadcastable(2), d.integer(0, 4)
    return (d.array(a, (*x, k)), d.array(b, (*y, k))), {}


def _searchsorted(d):
    dtype = d.choice(REAL_NUMERIC)
    x, values = d.array(dtype, (d.integer(0, 6),)), d.array(dtype, d.shape())
    if d.integer(0, 1):
        return (np.sort(x), values), {"side": d.choice(("left", "right"))}
    return (x, values), {"sorter": np.argsort(x), "side": d.choice(("left", "right"))}


def _where(d):
    dtypes, shapes = d.promotable(ALL, 2), d.broadcastable(3)
    a, b = (d.array(t, s) for t, s in zip(dtypes, shapes))
    if d.integer(0, 3) == 0:
        a = d.number(dtypes[1])
    return (d.array("bool", shapes[2]), a, b), {}


def _diff(d):
    dtype = d.choice(NUMERIC)
    x = d.array(dtype, d.shape(low=1))
    axis = d.axis(x.ndim)
    ends = {}
    for name in ("prepend", "append"):
        if d.integer(0, 1):
            shape = list(x.shape)
            shape[axis] = d.integer(0, 2)
            ends[name] = d.array(dtype, tuple(shape))
    return (x,), {"axis": axis, "n": d.integer(0, 3)} | ends


def _kinds(d):
    names = ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric")
    kind = d.choice((d.choice(names), (d.choice(names), Dtype(d.choice(ALL))), Dtype(d.choice(ALL))))
    return (Dtype(d.choice(ALL)), kind), {}


def _pair_of_dtypes(d):
    a, b = d.promotable(ALL, 2)
    return (d.choice((Dtype(a), d.array(a, d.shape()))), Dtype(b)), {}


def _limits(kinds):
    def draw(d):
        dtype = d.choice(kinds)
        return (Dtype(dtype) if d.integer(0, 1) else d.array(dtype, (2,)),), {}

    return draw


def _of(kind, names, *args, **kwargs):
    return {name: kind(*args, **kwargs) for name in names.split()}


TABLE = (
    _of(unary, "abs square positive", NUMERIC)
    | _of(unary, "negative", WITHOUT_UNSIGNED)
    | _of(unary, "acos acosh asin asinh atan atanh cos cosh exp expm1 log log10 log1p log2 reciprocal sin sinh", REAL)
    | _of(unary, "sqrt tan tanh signbit", REAL)
    | _of(unary, "ceil floor trunc sign round", REAL_NUMERIC)
    | _of(unary, "isfinite isinf isnan", NUMERIC)
    | _of(unary, "conj real imag", COMPLEX)
    | _of(unary, "logical_not", ("bool",))
    | _of(unary, "bitwise_invert", BITS)
    | _of(binary, "add subtract multiply", NUMERIC)
    | _of(binary, "equal not_equal", ALL)
    | _of(binary, "less less_equal greater greater_equal", REAL_NUMERIC)
    | _of(binary, "maximum minimum", REAL_NUMERIC)
    | _of(binary, "divide", FLOATING, special=False)
    | _of(binary, "floor_divide remainder", INTEGERS, special=False, low=1, high=9)
    | _of(binary, "pow", INTEGERS, special=False, low=0, high=5)
    | _of(binary, "atan2 copysign hypot logaddexp nextafter", REAL)
    | _of(binary, "logical_and logical_or logical_xor", ("bool",))
    | _of(binary, "bitwise_and bitwise_or bitwise_xor", BITS)
    | _of(binary, "bitwise_left_shift bitwise_right_shift", INTEGERS, special=False, low=0, high=6)
    | _of(reduction, "sum prod", NUMERIC, with_dtype=True)
    | _of(reduction, "all any count_nonzero", ALL)
    | _of(reduction, "max min", REAL_NUMERIC, smallest=1, special=True)
    | _of(reduction, "mean", FLOATING, smallest=1)
    | _of(reduction, "var std", REAL, smallest=2, correction=(0.0, 0, 0.5))
    | _of(along_axis, "argmax argmin", REAL_NUMERIC, none=9, smallest=1, keepdims=(False, True))
    | _of(along_axis, "sort argsort", REAL_NUMERIC, special=False, descending=(False, True), stable=(True,))
    | _of(along_axis, "cumulative_sum cumulative_prod", NUMERIC, none=1, special=False, include_initial=(False, True),
          with_dtype=True)
    | _of(along_axis, "unstack", ALL)
    | _of(unary, "unique_all unique_counts unique_inverse unique_values", ("bool", *REAL_NUMERIC))
    | _of(unary, "matrix_transpose", ALL)
    | {
        "arange": _arange, "asarray": _asarray, "empty": _sized, "zeros": _sized, "ones": _sized, "full": _full,
        "empty_like": _like, "zeros_like": _like, "ones_like": _like, "linspace": _linspace, "eye": _eye,
        "meshgrid": _meshgrid, "tril": _triangle, "triu": _triangle, "astype": _astype, "clip": _clip,
        "broadcast_arrays": _broadcast_arrays, "broadcast_to": _broadcast_to, "concat": lambda d: _joined(d, False),
        "stack": lambda d: _joined(d, True), "permute_dims": _permutation, "moveaxis": _moveaxis, "reshape": _reshape,
        "repeat": _repeat, "roll": _roll, "squeeze": _squeeze, "take": _take, "take_along_axis": _take_along_axis,
        "matmul": _matmul, "tensordot": _tensordot, "vecdot": _vecdot, "searchsorted": _searchsorted, "where": _where,
        "diff": _diff, "isdtype": _kinds, "can_cast": _pair_of_dtypes, "result_type": _pair_of_dtypes,
        "finfo": _limits(FLOATING), "iinfo": _limits(INTEGERS),
        "from_dlpack": lambda d: ((d.array(d.choice(ALL), d.shape()),), {}),
        "full_like": lambda d: ((d.array("float32", d.shape()), d.number("float32")), {}),
        "matrix_transpose": lambda d: ((d.array(d.choice(ALL), d.shape(2, 4)),), {}),
        "nonzero": lambda d: ((d.array(d.choice(ALL), d.shape(low=1)),), {}),
        "flip": lambda d: ((x := d.array(d.choice(ALL), d.shape()),), {"axis": d.axes(x.ndim)}),
        "expand_dims": lambda d: ((x := d.array(d.choice(ALL), d.shape()), d.axis(x.ndim + 1)), {}),
        "tile": lambda d: ((d.array(d.choice(ALL), d.shape()), _repetitions(d)), {}),
    }
)  # fmt: skip

# Further kinds of arguments, apart so that a failure tells which.
EXTRA = {
    **_of(unary, "acos acosh asin asinh atan atanh cos cosh exp expm1 log log10 log1p log2 sin sinh sqrt tan tanh"
          " reciprocal sign round", COMPLEX, special=False),
    **_of(binary, "floor_divide remainder", REAL),
    **_of(binary, "pow", FLOATING, special=False),
    **_of(binary, "divide", REAL),
    **_of(unary, "unique_all unique_counts unique_inverse unique_values", COMPLEX, special=False),
    **_of(reduction, "mean", REAL, smallest=2, special=True),
}  # fmt: skip

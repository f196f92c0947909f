"""The namespace of the array API standard: its names, and where they differ from thalweg's."""

import inspect

import numpy as np
import pytest
import thalweg as tw
from hypothesis import given, settings
from hypothesis.extra.array_api import make_strategies_namespace

xp = tw.tensor([1.0]).__array_namespace__()

ELEMENTWISE = (
    "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or"
    " bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor"
    " floor_divide greater greater_equal hypot imag"
    " isfinite isinf isnan less less_equal log log10 log1p log2 logaddexp logical_and"
    " logical_not logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow real"
    " reciprocal remainder round sign signbit sin sinh sqrt square subtract tan tanh trunc"
).split()
OTHERS = (
    "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros"
    " zeros_like astype broadcast_arrays broadcast_to can_cast finfo iinfo isdtype result_type take take_along_axis"
    " matmul matrix_transpose tensordot vecdot concat expand_dims flip moveaxis permute_dims repeat reshape roll"
    " squeeze stack tile unstack"
    " argmax argmin count_nonzero nonzero searchsorted where unique_all unique_counts unique_inverse"
    " unique_values argsort sort cumulative_prod cumulative_sum max mean min prod std sum var all any diff e inf nan"
    " newaxis pi bool int8 int16 int32 int64 uint8 float32 float64 complex64 complex128 __array_namespace_info__"
).split()


@pytest.mark.parametrize("name", ELEMENTWISE + OTHERS)
def test_every_name_is_there(name):
    assert hasattr(xp, name)
    assert name in xp.__all__


def test_tensors_name_their_namespace():
    assert xp.__name__ == "thalweg.array_api"
    assert tw.tensor(1).__array_namespace__(api_version="2024.12") is xp
    with pytest.raises(ValueError, match="version"):
        tw.tensor(1).__array_namespace__(api_version="1999.01")


def test_kinds_of_dtypes():
    assert xp.isdtype(xp.float32, "real floating")
    assert xp.isdtype(xp.uint8, ("signed integer", "integral"))
    assert not xp.isdtype(xp.bool, "numeric")
    assert xp.can_cast(xp.int8, xp.int16)
    assert not xp.can_cast(xp.float32, xp.int64)
    assert set(xp.__array_namespace_info__().dtypes(kind="complex floating")) == {"complex64", "complex128"}
    with pytest.raises(ValueError, match="kind"):
        xp.isdtype(xp.bool, "decimal")


def test_parameters_of_the_standard():
    x = xp.reshape(xp.arange(6.0), (2, 3))
    assert xp.concat([x, x], axis=None).shape == (12,)
    assert xp.expand_dims(x, axis=1).shape == (2, 1, 3)
    assert xp.permute_dims(x, (1, 0)).shape == xp.matrix_transpose(x).shape == (3, 2)
    assert xp.flip(x).tolist() == [[5, 4, 3], [2, 1, 0]]
    assert xp.take(x, xp.asarray([2, 0]), axis=1).tolist() == [[2, 0], [5, 3]]
    assert xp.repeat(xp.asarray([1, 2]), 2).tolist() == [1, 1, 2, 2]
    assert xp.diff(xp.asarray([1, 4, 9])).tolist() == [3, 5]
    assert xp.vecdot(x, x).tolist() == [5, 50]
    assert xp.astype(x, xp.float32, copy=False) is x
    with pytest.raises(ValueError, match="size 3"):
        xp.squeeze(x, 1)
    with pytest.raises(RuntimeError, match="copy"):
        xp.reshape(x.T, (6,), copy=False)


def test_reductions_and_searches():
    x = xp.asarray([[3.0, 1.0], [3.0, 2.0]])
    assert xp.max(x, axis=0).tolist() == [3, 2]
    assert xp.prod(x, axis=(0, 1)).item() == 18
    assert xp.var(x, axis=1).tolist() == [1, 0.25]
    assert xp.cumulative_sum(x[0], include_initial=True).tolist() == [0, 3, 4]
    assert xp.sort(x, axis=1).tolist() == [[1, 3], [2, 3]]
    found = xp.unique_all(x)
    assert found.values.tolist() == [1, 2, 3]
    assert found.indices.tolist() == [1, 3, 0]
    assert found.counts.tolist() == [1, 1, 2]


def test_signatures_are_the_standards():
    for name in ELEMENTWISE:
        parameters = list(inspect.signature(getattr(xp, name)).parameters.values())
        assert [p.name for p in parameters] in (["x"], ["x1", "x2"], ["x", "min", "max"])
        assert parameters[0].kind is inspect.Parameter.POSITIONAL_ONLY
    assert list(inspect.signature(xp.arange).parameters) == ["start", "stop", "step", "dtype", "device"]


def test_dtypes_alone_decide():
    zero_dim = xp.asarray(2.0, dtype=xp.float64)
    assert xp.add(xp.ones(3), zero_dim).dtype == xp.result_type(xp.ones(3), zero_dim) == xp.float64
    assert xp.matmul(xp.ones((2, 2)), xp.ones((2, 2), dtype=xp.float64)).dtype == xp.float64
    assert xp.concat([xp.asarray([1], dtype=xp.int8), xp.asarray([1], dtype=xp.int16)]).dtype == xp.int16
    assert xp.where(xp.asarray([True, False]), 1, xp.asarray([5, 6], dtype=xp.uint8)).tolist() == [1, 6]
    assert xp.subtract(1, xp.asarray([3, 4], dtype=xp.int8)).dtype == xp.int8
    with pytest.raises(TypeError, match="array"):
        xp.add(1, 2)


def test_special_cases():
    nan = xp.asarray([xp.nan, -0.0, 3.0])
    assert xp.isnan(xp.sign(nan))[0]
    assert xp.signbit(xp.remainder(xp.asarray([4.0, -4.0]), xp.asarray([-2.0, 2.0]))).tolist() == [True, False]
    assert xp.round(xp.asarray([1.5 + 2.5j])).tolist() == [2 + 2j]
    assert xp.unique_counts(xp.asarray([2j, 1j, 2j])).counts.tolist() == [1, 2]
    assert xp.sum(xp.ones((2, 2)), axis=()).shape == (2, 2)
    assert xp.roll(nan, 1, axis=()).shape == (3,)
    assert xp.diff(nan, n=0, prepend=nan).shape == (3,)
    assert xp.arange(3, 0).shape == (0,)
    assert xp.take(nan, xp.asarray([1, 0], dtype=xp.uint8)).shape == (2,)


@pytest.mark.filterwarnings("ignore:Array module thalweg")  # has no unsigned dtypes beyond uint8
def test_arrays_that_hypothesis_draws():
    arrays = make_strategies_namespace(xp)

    @settings(max_examples=60, deadline=None, database=None)
    @given(arrays.arrays(arrays.scalar_dtypes(), arrays.array_shapes(min_dims=0, min_side=0)))
    def round_trip(x):
        again = xp.asarray(np.asarray(x))
        assert again.dtype == x.dtype
        assert xp.all((again == x) | (again != again))

    round_trip()


def test_dlpack_names_its_device():
    x = tw.ones(2)
    assert x.to_device("cpu").tolist() == [1, 1]
    copied = xp.from_dlpack(x, copy=True)
    copied.zero_()
    assert x.tolist() == [1, 1]
    with pytest.raises(BufferError, match="CPU"):
        x.__dlpack__(dl_device=(2, 0))

"""The Tensor as a Python object: creation, text, copies, iteration, operators, promotion, NumPy and DLPack."""

import copy
import operator
import pickle

import numpy as np
import pytest
import thalweg as tw

DTYPES = {
    tw.bool: np.bool_, tw.uint8: np.uint8, tw.int8: np.int8, tw.int16: np.int16, tw.int32: np.int32,
    tw.int64: np.int64, tw.float16: np.float16, tw.float32: np.float32, tw.float64: np.float64,
    tw.complex64: np.complex64, tw.complex128: np.complex128,
}  # fmt: skip


# --- creation ---


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (True, tw.bool),
        ([1, 2], tw.int64),
        ([1, 2.0], tw.float32),
        ([True, 2], tw.int64),
        ([1, 2j], tw.complex64),
        ([[], []], tw.float32),
        (range(3), tw.int64),
    ],
)
def test_python_values_choose_the_dtype(data, dtype):
    t = tw.tensor(data)
    assert t.dtype == dtype
    assert t.shape == np.array(data).shape


def test_sequences_of_tensors_and_arrays_nest():
    assert tw.tensor([tw.tensor(1), tw.tensor(2)]).tolist() == [1, 2]
    assert tw.tensor([np.float32(1.5), 2]).tolist() == [1.5, 2.0]
    assert tw.tensor([np.array([1, 2]), np.array([3, 4])]).tolist() == [[1, 2], [3, 4]]


def test_tensor_copies_and_as_tensor_shares():
    array = np.zeros(3, np.float32)
    copied, shared = tw.tensor(array), tw.as_tensor(array)
    array[0] = 5
    assert copied[0].item() == 0.0 and shared[0].item() == 5.0
    t = tw.zeros(2)
    assert tw.as_tensor(t) is t and tw.as_tensor(t, dtype=tw.float64) is not t


def test_filled_tensors():
    assert tw.zeros(2, 3).tolist() == [[0.0] * 3] * 2
    assert tw.ones((2,), dtype=tw.int32).tolist() == [1, 1]
    assert tw.full((2,), True).dtype == tw.bool
    assert tw.full((), 2.5).item() == 2.5
    assert tw.zeros(0, 3).shape == (0, 3)
    assert tw.ones_like(tw.zeros(2, dtype=tw.int8)).dtype == tw.int8
    assert tw.zeros(3, dtype=tw.float64).new_full((2,), 7).tolist() == [7.0, 7.0]
    assert tw.empty_strided((2, 3), (1, 2)).stride() == (1, 2)


def test_a_bare_tensor_is_empty():
    assert tw.Tensor().shape == (0,)


# --- text ---


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: tw.tensor(3), "tensor(3)"),
        (lambda: tw.tensor(2.5), "tensor(2.5000)"),
        (lambda: tw.tensor([1.0, 2.0]), "tensor([1., 2.])"),
        (lambda: tw.tensor([1.5, -2.25]), "tensor([ 1.5000, -2.2500])"),
        (lambda: tw.tensor([1e-6, 1.0]), "tensor([1.0000e-06, 1.0000e+00])"),
        (lambda: tw.tensor([1.0, 1001.0]), "tensor([1.0000e+00, 1.0010e+03])"),
        (lambda: tw.tensor([-0.0, 10.0]), "tensor([-0., 10.])"),
        (lambda: tw.tensor([1, 100]), "tensor([  1, 100])"),
        (lambda: tw.tensor([True, False]), "tensor([ True, False])"),
        (lambda: tw.tensor([1.0, float("nan"), float("inf")]), "tensor([1., nan, inf])"),
        (lambda: tw.tensor([[1, 2], [3, 4]]), "tensor([[1, 2],\n        [3, 4]])"),
        (lambda: tw.zeros(2, 1, 1), "tensor([[[0.]],\n\n        [[0.]]])"),
        (lambda: tw.tensor([1 + 2j]), "tensor([1.+2.j])"),
        (lambda: tw.zeros(0), "tensor([])"),
        (lambda: tw.zeros(2, 0), "tensor([], size=(2, 0))"),
        (lambda: tw.zeros(1, dtype=tw.float64), "tensor([0.], dtype=thalweg.float64)"),
        (lambda: tw.ones(1, requires_grad=True), "tensor([1.], requires_grad=True)"),
        (lambda: tw.ones(1, requires_grad=True) * 2, "tensor([2.], grad_fn=<MulBackward>)"),
        (lambda: tw.ones(1, dtype=tw.bfloat16), "tensor([1.], dtype=thalweg.bfloat16)"),
    ],
)
def test_text(make, text):
    assert repr(make()) == text


def test_large_tensors_are_summarised():
    assert repr(tw.tensor(range(2000))) == "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"
    assert repr(tw.zeros(2000, 1)).count("\n") == 6


def test_long_rows_break_at_the_line_width():
    lines = repr(tw.tensor(range(100, 140))).split("\n")
    assert len(lines) > 1 and max(map(len, lines)) <= 80


def test_format_of_a_single_number():
    assert f"{tw.tensor(2.0):.2f}" == "2.00"
    assert f"{tw.tensor([1, 2])}" == "tensor([1, 2])"


# --- copies ---


@pytest.mark.parametrize("dtype", [*DTYPES, tw.bfloat16], ids=lambda d: d.name)
def test_pickle_keeps_everything(dtype):
    t = tw.tensor([[0, 1, 1], [1, 0, 1]]).to(dtype)[:, 1:]
    got = pickle.loads(pickle.dumps(t))
    assert got.dtype == dtype and got.shape == (2, 2) and got.tolist() == t.tolist()


def test_pickle_keeps_requires_grad_attributes_and_subclasses():
    p = tw.nn.Parameter(tw.ones(2))
    got = pickle.loads(pickle.dumps(p))
    assert type(got) is tw.nn.Parameter and got.requires_grad
    t = tw.ones(2)
    t.note = "kept"
    assert pickle.loads(pickle.dumps(t)).note == "kept"


def test_deepcopy_has_memory_of_its_own_and_keeps_sharing_within():
    t = tw.ones(2, requires_grad=True)
    (t * 3).sum().backward()
    first, second = copy.deepcopy([t, t])
    assert first is second and first.grad.tolist() == [3.0, 3.0]
    with tw.no_grad():
        first.add_(1)
    assert t.tolist() == [1.0, 1.0]


def test_copies_of_values_on_a_tape_are_refused():
    y = tw.ones(1, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="leaf"):
        copy.deepcopy(y)
    with pytest.raises(RuntimeError, match="leaf"):
        pickle.dumps(y)


# --- a Python citizen ---


def test_iteration_and_unpacking():
    t = tw.tensor([[1, 2], [3, 4]])
    a, b = t
    assert a.tolist() == [1, 2] and b.tolist() == [3, 4]
    assert len(t) == 2 and [row.tolist() for row in t] == [[1, 2], [3, 4]]
    a.add_(10)
    assert t[0].tolist() == [11, 12]


def test_numbers():
    assert int(tw.tensor(3.7)) == 3 and float(tw.tensor([2])) == 2.0 and complex(tw.tensor(1j)) == 1j
    assert [10, 20, 30][tw.tensor(1)] == 20
    assert bool(tw.tensor(0.0)) is False
    for what in (bool, int, float):
        with pytest.raises(RuntimeError):
            what(tw.ones(2))
    with pytest.raises(TypeError):
        [1][tw.tensor(0.0)]


def test_tensors_are_dict_keys_by_identity():
    a, b = tw.zeros(1), tw.zeros(1)
    assert {a: 1, b: 2}[a] == 1


OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
]  # fmt: skip


@pytest.mark.parametrize("op", OPERATORS, ids=lambda f: f.__name__)
def test_operators_with_tensors_and_numbers_on_both_sides(op):
    a, b = np.array([7.5, -7.5, 3.0]), np.array([2.0, 2.0, 3.0])
    ta, tb = tw.tensor(a), tw.tensor(b)
    np.testing.assert_allclose(op(ta, tb).numpy(), op(a, b))
    np.testing.assert_allclose(op(ta, 2.0).numpy(), op(a, 2.0))
    np.testing.assert_allclose(op(2.0, tb).numpy(), op(2.0, b))


@pytest.mark.parametrize(
    "op", [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift], ids=lambda f: f.__name__
)
def test_bit_operators(op):
    a, b = np.array([12, 7, 255]), np.array([1, 2, 3])
    assert op(tw.tensor(a), tw.tensor(b)).tolist() == op(a, b).tolist()
    assert op(tw.tensor(a), 2).tolist() == op(a, 2).tolist()
    assert op(13, tw.tensor(b)).tolist() == op(13, b).tolist()


def test_unary_operators():
    t = tw.tensor([-2, 3])
    assert (
        (-t).tolist() == [2, -3] and abs(t).tolist() == [2, 3] and (~t).tolist() == [1, -4] and (+t).tolist() == [-2, 3]
    )


def test_operators_in_place_keep_the_object_and_its_memory():
    t = tw.tensor([1.0, 2.0])
    before, address = t, t.data_ptr()
    t += 1
    t *= tw.tensor([2.0, 3.0])
    t -= 1
    t /= 2
    assert t is before and t.data_ptr() == address and t.tolist() == [1.5, 4.0]


def test_operators_leave_strangers_to_python():
    assert (tw.ones(1) == None) is False  # noqa: E711
    assert (tw.ones(1) != "x") is True
    with pytest.raises(TypeError):
        tw.ones(1) + "x"


# --- promotion ---


@pytest.mark.parametrize(
    ("a", "b", "dtype"),
    [
        (tw.uint8, tw.int8, tw.int16),
        (tw.uint8, tw.int64, tw.int64),
        (tw.int64, tw.float16, tw.float16),
        (tw.float16, tw.bfloat16, tw.float32),
        (tw.bool, tw.uint8, tw.uint8),
        (tw.float64, tw.complex64, tw.complex128),
        (tw.float32, tw.float64, tw.float64),
    ],
)
def test_dtypes_promote(a, b, dtype):
    assert (tw.ones(2, dtype=a) + tw.ones(2, dtype=b)).dtype == dtype
    assert (tw.ones(2, dtype=b) + tw.ones(2, dtype=a)).dtype == dtype


def test_numbers_and_0_dim_tensors_rank_below_tensors_with_dims():
    u8 = tw.tensor([17], dtype=tw.uint8)
    assert (2**u8).dtype == tw.uint8 and (2**u8).tolist() == [0]
    assert (2 ** tw.tensor(17, dtype=tw.uint8)).dtype == tw.uint8 and (2 ** tw.tensor(17, dtype=tw.uint8)).item() == 0
    f32, i32 = tw.ones(2), tw.ones(2, dtype=tw.int32)
    assert (f32 + tw.tensor(1.0, dtype=tw.float64)).dtype == tw.float32
    assert (i32 + tw.tensor(1.0)).dtype == tw.float32
    assert (tw.tensor(1, dtype=tw.int8) + 1).dtype == tw.int8
    assert (tw.ones(2, dtype=tw.bool) + 1).dtype == tw.int64
    assert (tw.ones(2, dtype=tw.float16) + 1e30).dtype == tw.float16
    assert (tw.ones(2) + 1j).dtype == tw.complex64


def test_numpy_numbers_are_numbers_of_their_kind():
    one = np.int64(1)
    ints = tw.ones(1, dtype=tw.int64)
    for result in (one + ints, ints + one):
        assert isinstance(result, tw.Tensor) and result.dtype == tw.int64 and result.tolist() == [2]
    halves = tw.tensor([1, 2, 3]) + 0.5
    assert halves.dtype == tw.float32 and halves.tolist() == [1.5, 2.5, 3.5]
    quotient = tw.tensor([1, 2, 3]).sum() / 0.001
    assert quotient.dtype == tw.float32 and quotient.item() == pytest.approx(6000)


def test_in_place_results_must_fit_the_dtype():
    ints = tw.ones(2, dtype=tw.int64)
    with pytest.raises(RuntimeError, match=r"int64"):
        ints += 0.5
    assert ints.tolist() == [1, 1]
    floats = tw.ones(2)
    floats += tw.ones(2, dtype=tw.float64)
    assert floats.dtype == tw.float32


# --- NumPy and DLPack ---


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
def test_numpy_both_ways_without_a_copy(dtype):
    array = np.array([[0, 1, 1], [1, 0, 1]]).astype(DTYPES[dtype])
    t = tw.from_numpy(array)
    assert t.dtype == dtype and t.data_ptr() == array.ctypes.data and t.tolist() == array.tolist()
    back = t.numpy()
    assert back.dtype == array.dtype and back.ctypes.data == array.ctypes.data
    t[0, 0] = 1
    assert array[0, 0] == 1 and back[0, 0] == 1


def test_strided_arrays_stay_strided():
    array = np.arange(12.0).reshape(3, 4)
    t = tw.from_numpy(array.T[1:, ::2])
    assert t.stride() == (1, 8) and t.tolist() == array.T[1:, ::2].tolist()
    np.testing.assert_array_equal(tw.tensor(array).T[1:].numpy(), array.T[1:])


def test_arrays_keep_the_memory_alive():
    t = tw.tensor([1.0, 2.0, 3.0])
    array = t.numpy()
    del t
    filler = [tw.zeros(3) for _ in range(50)]
    assert array.tolist() == [1.0, 2.0, 3.0] and len(filler) == 50


def test_numpy_functions_take_tensors():
    t = tw.tensor([[1.0, 2.0]])
    assert np.asarray(t).shape == (1, 2)
    assert np.array(t, dtype=np.int64).tolist() == [[1, 2]]
    assert isinstance(np.float64(2) * t, tw.Tensor)


def test_numpy_of_a_tensor_on_the_tape_is_refused():
    t = tw.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="detach"):
        t.numpy()
    assert t.numpy(force=True).tolist() == [1.0]


def test_arrays_in_foreign_byte_order_or_with_negative_strides_are_copied():
    assert tw.tensor(np.array([1, 2], dtype=">i4")).tolist() == [1, 2]
    assert tw.tensor(np.arange(3)[::-1]).tolist() == [2, 1, 0]
    with pytest.raises(ValueError, match="negative"):
        tw.from_numpy(np.arange(3)[::-1])


def test_read_only_arrays_cannot_be_written_through_a_tensor():
    array = np.zeros(2)
    array.flags.writeable = False
    with pytest.raises((ValueError, RuntimeError, TypeError)):
        tw.from_numpy(array).add_(1)
    assert array.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != tw.bool], ids=lambda d: d.name)
def test_dlpack_both_ways_without_a_copy(dtype):
    t = tw.tensor([[0, 1], [1, 1]]).to(dtype).t()
    array = np.from_dlpack(t)
    assert array.ctypes.data == t.data_ptr() and array.tolist() == t.tolist()
    back = tw.from_dlpack(np.array([[1, 2], [3, 4]]).astype(DTYPES[dtype]))
    assert back.dtype == dtype and back.tolist() == [[1, 2], [3, 4]]
    again = tw.from_dlpack(t)
    assert again.data_ptr() == t.data_ptr() and again.stride() == t.stride()


def test_dlpack_capsules():
    t = tw.ones(2)
    assert t.__dlpack_device__() == (1, 0)
    capsule = t.__dlpack__()
    tw.from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="taken"):
        tw.from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="grad"):
        tw.ones(1, requires_grad=True).__dlpack__()


def test_dlpack_keeps_the_exporter_alive():
    array = np.from_dlpack(tw.tensor([4.0, 5.0]))
    filler = [tw.zeros(2) for _ in range(50)]
    assert array.tolist() == [4.0, 5.0] and len(filler) == 50


# --- shape and memory ---


def test_size_is_a_tuple_that_knows_its_product():
    shape = tw.zeros(2, 3).shape
    assert shape == (2, 3) and shape.numel() == 6 and repr(shape) == "thalweg.Size([2, 3])"
    assert isinstance(shape[1:], tw.Size) and hash(shape) == hash((2, 3))
    assert tw.zeros(2, 3).size(-1) == 3 and tw.zeros(2, 3).stride(0) == 3


def test_views_share_memory_and_clones_do_not():
    t = tw.zeros(2, 3)
    assert t.view(6)._is_view() and t[0]._base is t and t.clone()._base is None
    t[:, 1] = tw.tensor([1.0, 2.0])
    assert t.tolist() == [[0, 1, 0], [0, 2, 0]] and t.t().reshape(-1).tolist() == [0, 0, 1, 2, 0, 0]
    assert not t.t().is_contiguous() and t.t().contiguous().is_contiguous()


def test_expanded_memory_is_not_written_several_times():
    x = tw.tensor(0.0).expand(3)
    with pytest.raises(RuntimeError, match="(?i)share|overlap|one memory|same"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="(?i)share|overlap|one memory|same"):
        tw.ones(2, 2).expand(2, 2, 2).masked_fill_(tw.ones(2, 2, dtype=tw.bool), 5.0)


@pytest.mark.parametrize(
    ("given", "dtype"), [(bool, tw.bool), (int, tw.int64), (float, tw.float64), (complex, tw.complex128)]
)
def test_python_types_as_dtypes(given, dtype):
    """Of their own width, whatever the default dtype is."""
    x = tw.ones(2)
    made = [
        tw.zeros(2, dtype=given),
        tw.tensor([1], dtype=given),
        tw.full((2,), 1, dtype=given),
        tw.eye(2, dtype=given),
    ]
    assert {t.dtype for t in [*made, x.to(given), x.to(dtype=given), x.new_zeros(2, dtype=given)]} == {dtype}
    assert tw.promote_types(given, tw.bool) == dtype and tw.can_cast(tw.bool, given)
    if given in (int, float):
        assert tw.arange(3, dtype=given).dtype == tw.linspace(0, 1, 2, dtype=given).dtype == dtype
    if given is float:
        assert x.sum(dtype=given).dtype == tw.softmax(x, 0, given).dtype == dtype
        assert tw.finfo(given).bits == 64 and tw.iinfo(int).bits == 64
        assert tw.nn.Linear(2, 2).to(given).weight.dtype == tw.nn.Linear(2, 2, dtype=given).weight.dtype == dtype
        assert x.view(given).shape == (1,)

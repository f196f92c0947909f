"""The parts of global tensors inside of compiled functions: to_local() and back, with gradients."""

import numpy as np
import pytest
import thalweg as tw

S, B, P = tw.sbp.split, tw.sbp.broadcast, tw.sbp.partial_sum
PAIR = tw.placement("cpu", [0, 1])
MESH = tw.placement("cpu", [[0, 1], [2, 3]])
LAYOUTS = [(PAIR, S(0)), (PAIR, B), (MESH, [S(0), S(1)]), (MESH, [B, S(0)])]


def values(shape, seed=0):
    return tw.tensor(np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32))


def same(found, expected):
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("where, how", [*LAYOUTS, (PAIR, P)])
def test_parts_are_those_of_eager_mode(where, how):
    x = values((5, 6)).to_global(where, how)
    found = tw.jit(lambda x: [part * 2 for part in x.to_local()])(x)
    for one, part in zip(found, x.to_local(), strict=True):
        assert one.is_local
        same(one, part * 2)


@pytest.mark.parametrize("where, how", [*LAYOUTS, (PAIR, P)])
def test_parts_become_a_tensor_again(where, how):
    @tw.jit
    def f(x):
        return tw.local_to_global([part * 2 for part in x.to_local()], where, x.sbp)

    x = values((5, 6)).to_global(where, how)
    for _ in range(2):
        found = f(x)
        assert (found.placement, found.sbp) == (where, x.sbp)
        same(found, x * 2)


def test_a_pending_result_stays_pending_where_that_is_said():
    found = tw.jit(lambda x: x.to_global(sbp=P))(values((4,)).to_global(PAIR, B))
    assert found.sbp == (P,)
    same(found, values((4,)))


def through_parts(where, x):
    squares = tw.local_to_global([part * part for part in x.to_local()], where, x.sbp)
    (squares * 3).sum().backward()


def in_parts(where, x):
    sum((part.exp().sum() * (i + 1) for i, part in enumerate(x.to_local())), start=tw.zeros(())).backward()


def parts_beside_the_whole(where, x):
    mine = sum((part.sum() for part in x.to_local()), start=tw.zeros(()))
    (mine.to_global(where, [B] * where.ndim) * x.sum()).backward()


@pytest.mark.parametrize("where, how", LAYOUTS)
@pytest.mark.parametrize("use", [through_parts, in_parts, parts_beside_the_whole])
def test_gradients_go_through_parts(where, how, use):
    eager, compiled = (values((5, 6)).to_global(where, how).requires_grad_() for _ in range(2))
    use(where, eager)
    tw.jit(lambda x: use(where, x))(compiled)
    assert compiled.grad.sbp == eager.grad.sbp == compiled.sbp
    same(compiled.grad, eager.grad)


def test_a_whole_with_a_gradient_becomes_global():
    def f(w):
        w.to_global(PAIR, S(0)).square().sum().backward()

    eager, compiled = (values((5,)).requires_grad_() for _ in range(2))
    f(eager)
    tw.jit(f)(compiled)
    assert compiled.grad.is_local
    same(compiled.grad, eager.grad)


def test_local_tensors_and_numbers_are_read_beside_parts_and_wholes():
    def f(x, y):
        both = x * 2 + y.to_global(PAIR, B)
        return both, [part * 2 + y[: len(part)] for part in x.to_local()]

    x, y = values((5, 6)).to_global(PAIR, S(0)), values((5, 6), 1)
    both, parts = tw.jit(f)(x, y)
    expected_both, expected = f(x, y)
    same(both, expected_both)
    for part, wanted in zip(parts, expected, strict=True):
        same(part, wanted)


def test_what_was_written_in_place_is_in_the_parts():
    @tw.jit
    def f(x):
        x += 1
        return [part + 0 for part in x.to_local()]

    x = values((4, 2)).to_global(PAIR, S(0))
    expected = x + 1
    for found, wanted in zip(f(x), expected.to_local(), strict=True):
        same(found, wanted)


@pytest.mark.parametrize(
    "use, error, words",
    [
        (
            lambda x: (x + 1).to_local(),
            RuntimeError,
            r"to_local: .* the sbp of a computed tensor .* to_global\(sbp=...\)",
        ),
        (lambda x: x.to_local()[0].add_(1), RuntimeError, "read-only; clone"),
        (lambda x: tw.local_to_global([tw.ones(1), tw.ones(2)], PAIR, S(0)), tw.PlacementError, "must have shape"),
        (
            lambda x: tw.local_to_global([tw.ones(2)] * 2, PAIR, S(0), check_meta="values"),
            NotImplementedError,
            "check them outside",
        ),
    ],
)
def test_errors_name_the_way_out(use, error, words):
    with pytest.raises(error, match=words):
        tw.jit(use)(tw.ones(4, placement=PAIR, sbp=S(0)))

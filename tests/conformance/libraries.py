"""Libraries that work on tensors of any framework: einops with its own tests, opt_einsum with its own equations."""

import functools
import importlib
import itertools
import os
import time

import numpy as np
import thalweg as tw

from .result import Result, perform

CHECKS = ("run",)
# Tests of einops that take the frameworks one by one, or whose cases do below.
EINOPS_TESTS = {
    "test_ops": "ellipsis_ops_imperative reduction_imperatives reduction_stress_imperatives enumerating_directions"
    " reduction_with_callable_imperatives concatenations_and_stacking gradients_imperatives tiling_imperatives"
    " repeat_imperatives anonymous_axes list_inputs reduction_imperatives_booleans",
    "test_other": "parse_shape_imperative underscore underscore_one underscore_several repeating is_float_type",
    "test_packing": "pack_unpack_against_numpy",
    "test_einsum": "functional",
}


@functools.cache
def einops_tests(module):
    """A module of einops's tests that sees thalweg as the only framework."""
    os.environ.setdefault("EINOPS_TEST_BACKENDS", "numpy")
    import einops.tests

    from .einops_backend import ThalwegBackend

    def backends(symbolic=False, layers=False):
        return [] if symbolic or layers else [ThalwegBackend()]

    einops.tests.collect_test_backends = backends
    loaded = importlib.import_module(f"einops.tests.{module}")
    if module == "test_einsum":
        loaded.valid_backends_functional.append("thalweg")
    return loaded


def einops_array_api():
    """einops.array_api, which goes through __array_namespace__, on the cases of einops's tests."""
    import einops
    import einops.array_api as functions

    cases = einops_tests("test_ops")
    x = np.arange(2 * 3 * 4 * 5 * 6).reshape(2, 3, 4, 5, 6)
    patterns = cases.identity_patterns + list(itertools.chain(*cases.equivalent_rearrange_patterns))
    for pattern in patterns:
        found = functions.rearrange(tw.from_numpy(x), pattern)
        np.testing.assert_array_equal(found.numpy(), einops.rearrange(x, pattern))
    for pattern, how in itertools.product(
        itertools.chain(*cases.equivalent_reduction_patterns), ("min", "max", "sum", "prod")
    ):
        found = functions.reduce(tw.from_numpy(x), pattern, how)
        np.testing.assert_array_equal(np.asarray(found), einops.reduce(x, pattern, how))
    small = x[0, :, :, 0, 0]
    for pattern, sizes in (("a b -> (a c) b", {"c": 2}), ("a b -> b 3 a", {}), ("a b -> a b c", {"c": 1})):
        found = functions.repeat(tw.from_numpy(small), pattern, **sizes)
        np.testing.assert_array_equal(found.numpy(), einops.repeat(small, pattern, **sizes))
    packed, shapes = functions.pack([tw.from_numpy(x[0]), tw.from_numpy(x[0, 0])], "* e")
    assert [t.shape for t in functions.unpack(packed, shapes, "* e")] == [x[0].shape, x[0, 0].shape]


def _views(equation):
    from opt_einsum.testing import build_views

    return [np.asarray(v) for v in build_views(equation)]


def _agree(found, want):
    assert isinstance(found, tw.Tensor)
    np.testing.assert_allclose(found.numpy(), want, rtol=1e-9, atol=1e-12)


def contractions(optimize):
    """Every equation of opt_einsum's tests, by name of the backend and by the tensors' type."""
    from opt_einsum import contract
    from opt_einsum.tests.test_contract import tests

    for equation in tests:
        views = _views(equation)
        want, tensors = np.einsum(equation, *views), [tw.tensor(v) for v in views]
        _agree(contract(equation, *tensors, optimize=optimize, backend="thalweg"), want)
        _agree(contract(equation, *tensors, optimize=optimize), want)


def expressions():
    """Contraction expressions, with and without constants and shared results."""
    from opt_einsum import contract_expression, shared_intermediates

    equation, shapes = "ij,jk,kl->li", ((2, 3), (3, 4), (4, 5))
    arrays = [np.random.default_rng(i).normal(size=s) for i, s in enumerate(shapes)]
    tensors, want = [tw.tensor(a) for a in arrays], np.einsum(equation, *arrays)
    _agree(contract_expression(equation, *shapes)(*tensors, backend="thalweg"), want)
    for constant in range(3):
        given = [t if i == constant else s for i, (t, s) in enumerate(zip(tensors, shapes))]
        expression = contract_expression(equation, *given, constants=[constant])
        _agree(expression(*(t for i, t in enumerate(tensors) if i != constant), backend="thalweg"), want)
    with shared_intermediates() as cache:
        expression = contract_expression(equation, *shapes)
        _agree(expression(*tensors), want)
        size = len(cache)
        _agree(expression(*tensors), want)
        assert len(cache) == size


def gradients():
    """Gradients flow through a contraction."""
    from opt_einsum import contract

    arrays = [np.random.default_rng(i).normal(size=(3, 3)) for i in range(3)]
    tensors = [tw.tensor(a).requires_grad_() for a in arrays]
    contract("ij,jk,ki->", *tensors).backward()
    np.testing.assert_allclose(tensors[1].grad.numpy(), np.einsum("ij,ki->jk", arrays[0], arrays[2]))


@functools.cache
def database():
    """{unit: function that raises where something is wrong}."""
    units = {}
    for module, names in EINOPS_TESTS.items():
        for name in names.split():
            units[f"einops.{module}.{name}"] = functools.partial(_einops_test, module, f"test_{name}")
    units["einops.array_api"] = einops_array_api
    for optimize in ("greedy", "optimal", "auto", "eager"):  # False is NumPy's einsum, whatever the tensors
        units[f"opt_einsum.contract.{optimize}"] = functools.partial(contractions, optimize)
    return units | {"opt_einsum.expressions": expressions, "opt_einsum.gradients": gradients}


def _einops_test(module, name):
    getattr(einops_tests(module), name)()


def run(unit):
    """One test."""
    result = Result(unit, demanded=True)
    start = time.perf_counter()
    perform(result, "-", 0, database()[unit], {"run": lambda test: test()}, lambda test: "", "run")
    result.seconds = time.perf_counter() - start
    return result

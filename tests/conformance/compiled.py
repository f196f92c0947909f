"""The check `compiled`: `tw.jit` of a call and of its gradient gives what eager mode gives, bit for bit."""

import numpy as np
import thalweg as tw

from .compare import GRADIENT_FACTOR, TOLERANCES
from .convert import dtype_name, rebuild, tensors_of, to_numpy
from .demanded import UNWRITTEN
from .draws import unseeded
from .outcome import SKIP, Rejected, first_line
from .sides import THALWEG

# What a static program refuses, with its reason; see docs/graphs.md.
_REFUSED = ("depends on data", "cannot read the value of a tensor", "are not known while it is traced")

# Their gradients have products of factors that lie in another order in a static program, and sum in another order.
_OTHER_SUMS = frozenset("svd linalg.svd linalg.pinv".split())


def compiled(op, sample):
    """Results, and the gradients of all inputs that require one, against the same function in eager mode."""
    try:
        unseeded_op = unseeded(op.op)  # a trace seeds nothing
        fn = THALWEG.function(op) if unseeded_op is op.op else THALWEG.target(unseeded_op)
        input, args, kwargs, _ = THALWEG.inputs(sample)
    except Exception as error:  # what the check `value` speaks of
        raise Rejected(first_line(error)) from None
    call = (input, args, kwargs)
    tensors = tensors_of(call)

    def run(*given):
        own = replaced(call, tensors, given)
        return with_gradients(fn(own[0], *own[1], **own[2]), given)

    message = same_as_eager(run, run, tensors, op.name in _OTHER_SUMS)
    return None if op.name in UNWRITTEN and message is not SKIP else message


def replaced(tree, tensors, others):
    """`tree` with `others` in the place of its tensors."""
    numbers = {id(tensor): i for i, tensor in enumerate(tensors)}
    return rebuild(tree, lambda x: others[numbers[id(x)]] if id(x) in numbers else x)


def with_gradients(result, leaves):
    """The tensors of a result, and the gradients of the leaves that require one."""
    results = [x for x in tensors_of(result) if isinstance(x, tw.Tensor)]
    roots = [x for x in results if x.requires_grad]
    wanted = [x for x in leaves if x.requires_grad]
    grads = []
    if roots and wanted:
        grads = tw.autograd.grad(roots, wanted, [tw.ones_like(x) for x in roots], allow_unused=True)
    return [x.detach() for x in results], [x for x in grads if x is not None]


def same_as_eager(eager, traced, tensors, other_sums=False):
    """None where both give the same lists of tensors, `traced` as a static program; else what differs.

    With `other_sums` they may differ as sums in another order do.
    """
    try:
        expected = _seeded(eager, tensors)
    except Exception as error:
        raise Rejected(first_line(error)) from None
    try:
        results = _seeded(tw.jit(traced), tensors)
    except RuntimeError as error:
        if any(reason in str(error) for reason in _REFUSED):
            return SKIP
        raise
    for kind, wants, gots in zip(("result", "gradient"), expected, results):
        if len(wants) != len(gots):
            return f"{len(gots)} {kind}s in a static program, {len(wants)} in eager mode"
        for i, (want, got) in enumerate(zip(wants, gots)):
            if difference := difference_of(want, got, other_sums):
                return f"{kind} {i} of the static program: {difference}"
    return None


def _seeded(function, tensors):
    tw.manual_seed(42)
    return function(*tensors)


def difference_of(want, got, other_sums=False):
    """What differs between two tensors; None where all bits that count are the same."""
    if want.dtype != got.dtype or tuple(want.shape) != tuple(got.shape):
        return f"{got.dtype} {tuple(got.shape)}, in eager mode {want.dtype} {tuple(want.shape)}"
    a, b = to_numpy(want), to_numpy(got)
    if other_sums:
        rtol, atol = (GRADIENT_FACTOR * tolerance for tolerance in TOLERANCES[dtype_name(want.dtype)])
        same = np.allclose(a, b, rtol, atol, equal_nan=True)
    else:
        same = np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    if same:
        return None
    a, b = (x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) for x in (a, b))
    return f"other bits than in eager mode; the largest difference is {np.nanmax(np.abs(a - b)):.3g}"

"""Gradients of one (op, dtype, sample): first and second order against torch's, and by finite differences."""

import numpy as np
import torch

from .checks import widened
from .compare import GRADIENT_FACTOR, compare, compare_tensor
from .convert import ToTorch, dtype_name, tensor_to_tw, tensors_of, to_numpy
from .outcome import SKIP, Rejected, first_line
from .sides import THALWEG, TORCH

STEP = 1e-6
FD_TOLERANCE = 1e-5
_SEED = 11


def leaves_of(sample):
    """The sample's tensors that require a gradient, in order."""
    return [t for t in tensors_of((sample.input, sample.args, sample.kwargs)) if t.requires_grad]


def _direction(tensors, seed):
    """Seeded NumPy directions of the shapes and dtypes of torch tensors."""
    rng = np.random.default_rng(seed)
    directions = []
    for t in tensors:
        d = rng.standard_normal(tuple(t.shape))
        if t.is_complex():
            d = d + 1j * rng.standard_normal(tuple(t.shape))
        directions.append(torch.as_tensor(np.asarray(d)).to(t.dtype))
    return directions


def _side_tensors(side, tensors, requires_grad=False):
    made = [t.clone() if side.is_torch else tensor_to_tw(t) for t in tensors]
    return [t.requires_grad_(True) for t in made] if requires_grad else made


def _is_inexact(t):
    return t.is_floating_point() or t.is_complex()


class Run:
    """One forward pass in one framework: `leaves`, and `outputs` that depend on them."""

    def __init__(self, side, leaves, result):
        self.side, self.leaves = side, leaves
        self.outputs = [t for t in tensors_of(result) if isinstance(t, side.Tensor) and _is_inexact(t)]
        self.active = [t.requires_grad for t in self.outputs]

    def grads(self, cotangents, create_graph=False):
        outputs = [o for o, a in zip(self.outputs, self.active) if a]
        return list(self.side.grad(outputs, self.leaves, cotangents, create_graph))

    def active_outputs(self):
        return [o for o, a in zip(self.outputs, self.active) if a]


def run_op(op, side, sample):
    """The forward pass of an op's function variant."""
    return _run(side, sample, side.function(op), lambda x: x)


def run_in_place(op, side, sample):
    """The forward pass of the in-place variant, on a clone of the input."""
    return _run(side, sample, side.target(op.inplace_variant), lambda x: x.clone())


def _run(side, sample, fn, prepare):
    input, args, kwargs, memo = side.inputs(sample)
    leaves = [memo[id(t)] for t in leaves_of(sample)]
    result = side.call(fn, prepare(input), args, kwargs)
    return Run(side, leaves, side.target(sample.output_process_fn_grad)(result))


def _reference(make, sample, second=False):
    """(run, cotangents, grads) on torch's side; Rejected when torch has no gradient here."""
    try:
        run = make(TORCH, sample)
        cotangents = _direction(run.active_outputs(), _SEED)
        if not cotangents:
            raise Rejected("no output requires a gradient")
        sided = _side_tensors(TORCH, cotangents, second)
        return run, cotangents, sided, run.grads(sided, second)
    except Rejected:
        raise
    except Exception as e:
        raise Rejected(first_line(e)) from None


def _compare_grad(want, got, shape_of, exact, label, values=True):
    """A gradient that one side does not produce counts as zeros; values=False looks at shape and dtype only."""
    if want is None and got is None:
        return None
    if got is None:
        return None if not values or not to_numpy(want).any() else f"{label}: thalweg gives no gradient, torch does"
    if want is None:
        want = torch.zeros(tuple(shape_of.shape), dtype=shape_of.dtype)
    message = compare_tensor(want, got, exact, GRADIENT_FACTOR) if values else compare(want, got, values=False)
    return f"{label}: {message}" if message else None


def _exact(make, sample, compute):
    """compute(run) of torch's run from float64 inputs, made when first asked for: i -> a function for `compare`."""
    cache = []

    def grads():
        if not cache:
            wide = sample.widened() if hasattr(sample, "widened") else widened(sample)
            try:
                cache.append(compute(make(TORCH, wide)))
            except Exception:
                cache.append(None)
        return cache[0]

    return lambda i: lambda: grads() and grads()[i]


def _like(tensors, models):
    return [t.to(m.dtype) for t, m in zip(tensors, models)]


def first(make, sample, values=True):
    """Gradient of a seeded combination of the outputs by every leaf, against torch's; make(side, sample) is a Run."""
    run, cotangents, _, want = _reference(make, sample)
    ours = make(THALWEG, sample)
    if ours.active != run.active:
        return f"requires_grad of the outputs: want {run.active}, got {ours.active}"
    got = ours.grads(_side_tensors(THALWEG, cotangents))
    exact = _exact(make, sample, lambda run: run.grads(_like(cotangents, run.active_outputs())))
    for i, (w, g, leaf) in enumerate(zip(want, got, run.leaves)):
        message = _compare_grad(w, g, leaf, exact(i), f"gradient of input {i}", values)
        if message:
            return message
    return None


def second(make, sample, values=True):
    """Gradient of the gradient, by inputs and by the cotangents, against torch's."""
    run, cotangents, cots, grads = _reference(make, sample, second=True)
    chosen = [i for i, g in enumerate(grads) if g is not None and g.requires_grad]
    if not chosen:
        return SKIP
    seeds = _direction([grads[i] for i in chosen], _SEED + 1)
    try:
        want = TORCH.grad([grads[i] for i in chosen], run.leaves + cots, seeds)
    except Exception as e:
        raise Rejected(first_line(e)) from None
    ours = make(THALWEG, sample)
    if ours.active != run.active:
        return f"requires_grad of the outputs: want {run.active}, got {ours.active}"
    our_cots = _side_tensors(THALWEG, cotangents, True)
    our_grads = ours.grads(our_cots, True)
    for i in chosen:
        if our_grads[i] is None or not our_grads[i].requires_grad:
            return f"gradient of input {i} has no graph (create_graph=True)"
    got = THALWEG.grad([our_grads[i] for i in chosen], ours.leaves + our_cots, _side_tensors(THALWEG, seeds))
    labels = [f"second gradient by input {i}" for i in range(len(run.leaves))]
    labels += [f"second gradient by cotangent {i}" for i in range(len(cots))]

    def widely(wide):
        wide_cots = [t.requires_grad_(True) for t in _like(cotangents, wide.active_outputs())]
        made = wide.grads(wide_cots, True)
        made = [made[i] for i in chosen]
        return TORCH.grad(made, wide.leaves + wide_cots, _like(seeds, made))

    exact = _exact(make, sample, widely)
    for i, (w, g, like, label) in enumerate(zip(want, got, run.leaves + cots, labels)):
        message = _compare_grad(_answered(w, g), g, like, exact(i), label, values)
        if message:
            return message
    return None


def _answered(want, got):
    """`want` with `got` where it is NaN: torch has no second derivative there, as at the kink of a norm."""
    if want is None or got is None or tuple(want.shape) != tuple(got.shape):
        return want
    return torch.where(torch.isnan(want), torch.as_tensor(to_numpy(got)).to(want.dtype), want)


def _shifted(sample, leaves, directions, step):
    """The sample with leaf + step * direction for each leaf."""
    moved = {id(t): (t.detach() + step * d).requires_grad_(True) for t, d in zip(leaves, directions)}

    class Shift(ToTorch):
        def _leaf(self, x):
            return moved.get(id(x), x) if isinstance(x, torch.Tensor) else x

    input, args, kwargs = Shift()((sample.input, sample.args, sample.kwargs))
    return type(sample)(
        input, args=args, kwargs=kwargs, output_process_fn_grad=sample.output_process_fn_grad, name=sample.name
    )


def _inner(tensors, directions):
    """Sum of the products of side tensors with torch directions, in NumPy."""
    pairs = zip(tensors, directions)
    return float(sum((to_numpy(t) * to_numpy(d)).sum() for t, d in pairs if t is not None))


def _slopes(side, make, sample, leaves, directions, cotangents, order):
    """(analytic, numeric) derivative along the directions of <outputs, cotangents> or of <gradients, directions'>."""
    inner = _direction(leaves, _SEED + 3)

    def scalar(shifted):
        run = make(side, shifted)
        if order == 1:
            return _inner(run.active_outputs(), cotangents)
        return _inner(run.grads(_side_tensors(side, cotangents)), inner)

    run = make(side, sample)
    grads = run.grads(_side_tensors(side, cotangents), create_graph=order == 2)
    if order == 2:
        chosen = [i for i, g in enumerate(grads) if g is not None and g.requires_grad]
        if not chosen:
            return 0.0, 0.0
        seeds = _side_tensors(side, [inner[i] for i in chosen])
        grads = side.grad([grads[i] for i in chosen], run.leaves, seeds)
    ahead = scalar(_shifted(sample, leaves, directions, STEP))
    behind = scalar(_shifted(sample, leaves, directions, -STEP))
    return _inner(grads, directions), (ahead - behind) / (2 * STEP)


def _differs(pair):
    analytic, numeric = pair
    return not abs(analytic - numeric) <= FD_TOLERANCE * max(1.0, abs(analytic), abs(numeric))


def finite(make, sample, order):
    """Directional finite differences in float64. A sample where torch's own gradient fails them (a kink) is skipped."""
    leaves = leaves_of(sample)
    _, cotangents, _, _ = _reference(make, sample)
    if any(dtype_name(t.dtype) != "float64" for t in leaves + cotangents):
        return SKIP
    directions = _direction(leaves, _SEED + 2)
    try:
        theirs = _slopes(TORCH, make, sample, leaves, directions, cotangents, order)
    except Exception as e:
        raise Rejected(first_line(e)) from None
    if _differs(theirs):
        return SKIP
    analytic, numeric = pair = _slopes(THALWEG, make, sample, leaves, directions, cotangents, order)
    if not _differs(pair):
        return None
    return (
        f"order {order}: the gradient says {analytic:.9g} along a direction, finite differences {numeric:.9g}"
        f" (torch: {theirs[0]:.9g}, {theirs[1]:.9g})"
    )

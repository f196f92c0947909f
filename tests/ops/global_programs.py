"""An op in a compiled function of global tensors on two devices, laid out as a signature says, against the whole.

Every sample takes one of its signatures, and few samples are run; THALWEG_SBP=all takes all of both.
"""

import zlib
from typing import Any

import thalweg as tw
from tolerance import assert_close

ONE_IN = 16  # of the calls
_KINDS = {
    "B": lambda layout: tw.sbp.broadcast,
    "S": lambda layout: tw.sbp.split(layout[1], unit=layout[2]),
    "P": lambda layout: getattr(tw.sbp, f"partial_{layout[1]}"),
}


def chosen(key: str, signatures: list, everything: bool) -> list:
    """The signatures to run of a call."""
    number = zlib.crc32(key.encode())
    if everything or not signatures:
        return signatures
    return [signatures[number % len(signatures)]] if number % ONE_IN == 0 else []


def check_programs(call: Any, key: str, everything: bool) -> None:
    """`call` is one of sharded.Call."""
    run = chosen(key, call.signatures, everything)
    if not run or not call.outputs:
        return
    tw.manual_seed(0)
    expected = _listed(call.op(*call.args, **call.kwargs))
    tw.env.init(devices_per_process=2)
    try:
        for layouts, _ in run:
            _check(call, layouts, expected)
    finally:
        tw.env.init()


def _check(call: Any, layouts: tuple | list, expected: list) -> None:
    where = tw.placement("cpu", [0, 1])
    known = {
        id(t): t.detach().to_global(where, _KINDS[layout[0]](layout))
        for t, layout in zip(call.inputs, layouts, strict=True)
        if t is not None
    }
    args, kwargs = _mapped(call.args, known), {name: _mapped(value, known) for name, value in call.kwargs.items()}
    with tw.no_grad():
        tw.manual_seed(0)
        results = _listed(tw.jit(call.op)(*args, **kwargs))
    what = f"{call.op.__name__} in a program on {layouts}"
    for i, (got, want) in enumerate(zip(results, expected, strict=True)):
        kind = "float32" if want.dtype.is_floating_point or want.is_complex() else ""
        assert_close(tw.tensor(got.numpy()), want.detach(), kind, f"{what}: output {i}")


def _mapped(value: Any, known: dict) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_mapped(item, known) for item in value)
    return known.get(id(value), value) if isinstance(value, tw.Tensor) else value


def _listed(result: Any) -> list:
    return [result] if isinstance(result, tw.Tensor) else [t for t in result if isinstance(t, tw.Tensor)]

"""What of torch's operator database runs on another device, and what of it need not.

There values and gradients are compared; names of methods, operators and aliases, refusals and finite differences say
nothing about a device's kernels. Samples beyond MAX_ELEMENTS are left out, since an emulated device takes some 100 ns
for an access, and of very many samples some are taken. What the device has no kernel for by design
(`tools/cpu_alone.py`, UNSUPPORTED) is skipped with its reason; any other refusal is a failure.
"""

import re
import runpy
from pathlib import Path

from . import convert

CHECKS = ("value", "noncontiguous", "inplace", "grad", "grad_inplace")
DTYPES = ("float32", "bfloat16")
MAX_ELEMENTS = 20_000
MAX_SAMPLES = 60  # of an op in a dtype, spread over all
# In half types a bias is added to the rounded result of a convolution there, as on torch's CUDA: where the two cancel,
# its rounding is much of what is left.
HALF_BIAS_FACTOR = 16.0

_CPU_ALONE = runpy.run_path(str(Path(__file__).resolve().parents[2] / "tools" / "cpu_alone.py"))["ON_THE_CPU_ALONE"]
# What an error says: why the device refuses it.
UNSUPPORTED = {
    r"matrix products of dtype (u?int|bool)": "no products of integers: cuBLAS has none",
    r"convolution(_weight)?: dtype (u?int|bool|complex)": "cuDNN has none of integers or complex numbers",
    r"recurrence: dtype complex": "the gradient of a product of complex numbers: that scan has no kernel yet",
}


def elsewhere():
    return convert.device().type != "cpu"


def refusal(error):
    """Why the device refuses what it refuses with this error; None where there is no reason for it."""
    if not elsewhere() or not isinstance(error, NotImplementedError):
        return None
    found = re.search(r"(\w+): there is no kernel for device", str(error))
    if found:
        return f"{found[1]}: {_CPU_ALONE[found[1]]}" if found[1] in _CPU_ALONE else None
    return next((why for words, why in UNSUPPORTED.items() if re.search(words, str(error))), None)


def misplaced(sample, results):
    """What is wrong with where the results of a call lie: beside its tensors, unless it names a device."""
    call = (sample.input, sample.args, sample.kwargs)
    named = "device" in sample.kwargs or any(isinstance(a, str) and a.startswith(("cpu", "cuda")) for a in sample.args)
    if not elsewhere() or not convert.tensors_of(call) or named:
        return None
    lost = [t for t in convert.tensors_of(results) if t.device.type != convert.device().type]
    return f"a result lies on {lost[0].device}" if lost else None


def factor(name, sample):
    """By how much the tolerances are widened for the tensors of a sample of this op."""
    halves = [t for t in convert.tensors_of(sample.input) if convert.dtype_name(t.dtype) in ("float16", "bfloat16")]
    return HALF_BIAS_FACTOR if elsewhere() and halves and name.startswith("nn.functional.conv") else 1.0


def left_out(index, count, tensors):
    """The reason to leave out sample `index` of `count`, which is made of these tensors, or None."""
    if not elsewhere():
        return None
    if sum(t.numel() for t in tensors) > MAX_ELEMENTS:
        return f"more than {MAX_ELEMENTS} elements"
    return f"one of more than {MAX_SAMPLES} samples" if index % -(-count // MAX_SAMPLES) else None

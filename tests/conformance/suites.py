"""The suites by kind. A new one is a class here with `checks`, `names`, `find`, `demanded` and `run`."""

import hashlib

import torch

from . import array_api, convert, engine, exempt, libraries, modules, on_device, onnx_cases, optimizers, samples
from .demanded import MODULES, OPTIMIZERS


class Ops:
    """torch's operator database."""

    checks = engine.ALL_CHECKS

    @staticmethod
    def names():
        return list(samples.database())

    @staticmethod
    def find(word):
        """Entries of that full name or name; else those whose last part it is."""
        entries = samples.database().items()
        exact = [n for n, op in entries if word in (n, op.name)]
        return exact or [n for n, op in entries if op.name.rsplit(".", 1)[-1] == word]

    @staticmethod
    def demanded(name):
        return samples.is_demanded(name)

    @staticmethod
    def run(unit):
        whole = (samples.DTYPES, engine.ALL_CHECKS)
        dtypes, checks = (on_device.DTYPES, on_device.CHECKS) if on_device.elsewhere() else whole
        dtypes, wanted = tuple(unit.get("dtypes") or dtypes), tuple(unit.get("checks") or checks)
        return engine.run(unit["name"], dtypes, wanted).as_dict()


class Modules:
    """torch's module database."""

    checks = modules.CHECKS

    @staticmethod
    def names():
        return list(modules.database())

    @staticmethod
    def find(word):
        return [n for n in modules.database() if word in (n, n.removeprefix("nn."))]

    @staticmethod
    def demanded(name):
        return name in MODULES

    @staticmethod
    def run(unit):
        return modules.run(unit["name"], unit.get("dtypes"), unit.get("checks") or modules.CHECKS).as_dict()


class Optimizers:
    """torch's optimizer database."""

    checks = optimizers.CHECKS

    @staticmethod
    def names():
        return list(optimizers.database())

    @staticmethod
    def find(word):
        return [n for n in optimizers.database() if word in (n, f"optim.{n}")]

    @staticmethod
    def demanded(name):
        return name in OPTIMIZERS

    @staticmethod
    def run(unit):
        return optimizers.run(unit["name"], unit.get("dtypes"), unit.get("checks") or optimizers.CHECKS).as_dict()


class ArrayApi:
    """The array API standard, against its strict reference."""

    checks = array_api.CHECKS

    @staticmethod
    def names():
        return array_api.database()

    @staticmethod
    def find(word):
        return [n for n in array_api.database() if word == n]

    @staticmethod
    def demanded(name):
        return True

    @staticmethod
    def run(unit):
        return array_api.run(unit["name"], unit.get("checks") or array_api.CHECKS).as_dict()


class Onnx:
    """ONNX's node tests by operator, and its models."""

    checks = onnx_cases.CHECKS

    @staticmethod
    def names():
        return list(onnx_cases.database())

    @staticmethod
    def find(word):
        return [n for n in onnx_cases.database() if word == n] if word.startswith("onnx.") else []

    @staticmethod
    def demanded(name):
        return onnx_cases.demanded(name)

    @staticmethod
    def run(unit):
        return onnx_cases.run(unit["name"]).as_dict()


class Libraries:
    """einops and opt_einsum on thalweg's tensors."""

    checks = libraries.CHECKS

    @staticmethod
    def names():
        return list(libraries.database())

    @staticmethod
    def find(word):
        return [n for n in libraries.database() if word == n or n.startswith(word + ".")]

    @staticmethod
    def demanded(name):
        return True

    @staticmethod
    def run(unit):
        return libraries.run(unit["name"]).as_dict()


SUITES = {
    "op": Ops,
    "module": Modules,
    "optimizer": Optimizers,
    "array_api": ArrayApi,
    "onnx": Onnx,
    "library": Libraries,
}


def sampled(name, fraction):
    """Whether a name is in the sampled run: by hash, so the same names everywhere."""
    return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) < fraction * 2**32


def select(suite, unit):
    """The names of a suite that a command line or pytest's options choose."""
    words, fraction = unit.get("words") or [], unit.get("fraction", 1.0)
    names = list(dict.fromkeys(n for w in words for n in suite.find(w))) if words else suite.names()
    if unit.get("demanded"):
        names = [n for n in names if suite.demanded(n)]
    return [n for n in names if sampled(n, fraction)] if fraction < 1 else names


def _list(unit):
    kinds = [k for k in unit["suites"] if k in SUITES]
    names = {kind: select(SUITES[kind], unit) for kind in kinds}
    for word in unit.get("words") or []:
        if not any(SUITES[k].find(word) for k in kinds):
            near = [n for k in kinds for n in SUITES[k].names() if word.lower() in n.lower()][:8]
            raise LookupError(f"nothing named {word!r}" + (f"; there is: {', '.join(near)}" if near else ""))
    unknown = set(unit.get("checks") or []) - {c for k in kinds for c in SUITES[k].checks}
    if unknown:
        raise LookupError(f"no check {sorted(unknown)}; there are: {[c for k in kinds for c in SUITES[k].checks]}")
    return {
        "names": names,
        "torch": torch.__version__,
        "checks": list(dict.fromkeys(c for k in kinds for c in SUITES[k].checks)),
        "exemptions": [e.key() for e in exempt.EXEMPTIONS],
        "max_fraction": exempt.MAX_FRACTION,
    }


def run(unit):
    """One unit of work, as the worker gets it; the result is plain data."""
    convert.use_device(unit.get("device") or "cpu")
    return _list(unit) if unit["kind"] == "list" else SUITES[unit["kind"]].run(unit)

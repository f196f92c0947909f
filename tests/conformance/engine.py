"""One op of the database through every check: the unit of work of the command, the report and pytest."""

import functools
import time
from collections import Counter
from dataclasses import asdict, dataclass, field

from . import checks, errors, exempt, grads, names, samples
from .compare import describe_call
from .convert import Inconvertible
from .demanded import RANDOM
from .outcome import SKIP, Rejected, first_line

FORWARD = tuple(checks.CHECKS)
GRADIENT = ("grad", "grad_noncontiguous", "grad_inplace", "gradgrad", "finite", "finite2")
ALL_CHECKS = FORWARD + GRADIENT + ("errors",)
MAX_FAILURES_KEPT = 12


@dataclass
class Failure:
    check: str
    dtype: str
    index: int
    message: str
    call: str


@dataclass
class OpResult:
    """Counts by dtype and check: passed, failed, exempt, skipped (torch refuses it or the variant does not exist)."""

    name: str
    demanded: bool
    counts: dict = field(default_factory=dict)
    failures: list = field(default_factory=list)
    samples: int = 0
    exempt_samples: int = 0
    bad_samples: int = 0
    exemptions: dict = field(default_factory=dict)
    missing: str = ""
    error: str = ""
    seconds: float = 0.0

    def add(self, dtype, check, outcome):
        self.counts.setdefault(dtype, {}).setdefault(check, Counter())[outcome] += 1

    def total(self, outcome, check=None):
        return sum(
            c.get(outcome, 0) for by in self.counts.values() for k, c in by.items() if check is None or k == check
        )

    def failed(self):
        return bool(self.error) or self.total("failed") > 0 or (bool(self.missing) and self.demanded)

    def as_dict(self):
        plain = {d: {k: dict(c) for k, c in by.items()} for d, by in self.counts.items()}
        return dict(vars(self), counts=plain, failures=[asdict(f) for f in self.failures])


def _gradient_checks(op, dtype):
    """The gradient checks that apply to a dtype, as {name: function of a sample}."""
    if not op.supports_autograd or dtype not in ("float32", "float64", "complex64", "complex128"):
        return {}
    found = {"grad": lambda s: grads.first(op, s)}
    if op.supports_inplace_autograd and op.inplace_variant is not None:
        found["grad_inplace"] = lambda s: SKIP if s.broadcasts_input else grads.first(op, s, "inplace")
    if dtype == "float64":
        found["grad_noncontiguous"] = lambda s: grads.first(op, s.noncontiguous())
        found["finite"] = lambda s: grads.finite(op, s, 1)
    if dtype in ("float64", "complex128") and op.supports_gradgrad:
        found["gradgrad"] = lambda s: grads.second(op, s)
        if dtype == "float64":
            found["finite2"] = lambda s: grads.finite(op, s, 2)
    return found


def checks_for(op, dtype, wanted=ALL_CHECKS):
    table = {k: functools.partial(fn, op) for k, fn in checks.CHECKS.items()}
    table.update(_gradient_checks(op, dtype))
    return {k: fn for k, fn in table.items() if k in wanted}


def _random_gradients_mean_nothing(op, sample):
    """A random op's gradient depends on what was drawn; only draws that torch repeats are compared."""
    try:
        want, _ = checks._torch(op.op, sample)
        return not checks.has_values(op, op.op, sample, want)
    except Rejected:
        return False


def run_check(fn, sample):
    """(outcome, message) of one check on one sample; raises Missing when thalweg lacks a name."""
    try:
        message = fn(sample)
    except Rejected:
        return "skipped", ""
    except Inconvertible as e:
        return "skipped", str(e)
    except Exception as e:
        if names.is_missing(e):
            return "missing", str(e)
        return "failed", "raises " + first_line(e)
    if message is SKIP:
        return "skipped", ""
    return ("failed", message) if message else ("passed", "")


def run_sample(result, op, dtype, index, sample, table):
    """Every check of `table` on one sample, counted into `result`."""
    marks = set()
    random = op.name in RANDOM and any(k in GRADIENT for k in table)
    random = random and _random_gradients_mean_nothing(op, sample)
    for check, fn in table.items():
        if random and check in GRADIENT:
            result.add(dtype, check, "skipped")
            continue
        at(result.name, dtype, check, index)
        outcome, message = run_check(fn, sample)
        if outcome == "missing":
            if check == "value":
                result.missing = message
                return
            outcome = "failed"
            message = f"thalweg lacks {message}"
        exemption = exempt.find(result.name, dtype, check, sample) if outcome in ("passed", "failed") else None
        if exemption is not None:
            seen = result.exemptions.setdefault(exemption.key(), {"passed": 0, "failed": 0})
            seen[outcome] += 1
            outcome = "exempt" if outcome == "failed" else outcome
        result.add(dtype, check, outcome)
        marks.add(outcome)
        if outcome == "failed":
            keep(result, Failure(check, dtype, index, message, describe_call(sample)))
    result.samples += 1
    result.exempt_samples += "exempt" in marks
    result.bad_samples += "failed" in marks


def keep(result, failure):
    """Keeps the first failures of each (check, dtype), so that one bad check does not hide the others."""
    same = [f for f in result.failures if (f.check, f.dtype) == (failure.check, failure.dtype)]
    if len(same) < MAX_FAILURES_KEPT:
        result.failures.append(failure)


def at(*where):
    """Where the run stands; the worker replaces it so that a crash can be placed."""


def _run_errors(result, op):
    for index, case in enumerate(samples.error_inputs(result.name)):
        at(result.name, "-", "errors", index)
        outcome, message = run_check(lambda c: errors.error_input(op, c), case)
        if outcome == "missing":
            result.missing = result.missing or message
            return
        result.add("-", "errors", outcome)
        if outcome == "failed":
            keep(result, Failure("errors", "-", index, message, describe_call(case.sample_input)))


def run_op(name, dtypes=samples.DTYPES, wanted=ALL_CHECKS):
    """Every sample of one op in the given dtypes, and its error inputs."""
    op = samples.database()[name]
    result = OpResult(name, samples.is_demanded(name))
    start = time.perf_counter()
    try:
        for dtype in samples.dtypes_of(op, dtypes):
            table = checks_for(op, dtype, wanted)
            for index, sample in enumerate(samples.inputs(name, dtype)):
                if result.missing:
                    break
                run_sample(result, op, dtype, index, sample, table)
        if "errors" in wanted and not result.missing:
            _run_errors(result, op)
    except Exception as e:
        result.error = f"the harness failed at {dtypes}: {first_line(e)}"
        raise
    finally:
        result.seconds = time.perf_counter() - start
    return result

"""What one unit (an op, a module, an optimizer) gave: counts by dtype and check, failures, exemptions."""

from collections import Counter
from dataclasses import asdict, dataclass, field

from . import exempt, names, on_device
from .convert import Inconvertible
from .outcome import SKIP, Rejected, first_line

MAX_FAILURES_KEPT = 12


@dataclass
class Failure:
    check: str
    dtype: str
    index: int
    message: str
    call: str


def at(name, dtype, check, index):
    """Called before every check; a worker replaces it by one that notes the place, to tell where a crash was."""


@dataclass
class Result:
    """Outcomes are passed, failed, exempt, or skipped (torch refuses the sample or the variant does not exist)."""

    name: str
    demanded: bool
    counts: dict = field(default_factory=dict)
    failures: list = field(default_factory=list)
    samples: int = 0
    exempt_samples: int = 0
    bad_samples: int = 0
    exemptions: dict = field(default_factory=dict)
    missing: str = ""
    skipped: dict = field(default_factory=dict)  # reason: how many, where a suite tells
    seconds: float = 0.0

    def count(self, dtype, check, outcome):
        self.counts.setdefault(dtype, {}).setdefault(check, Counter())[outcome] += 1

    def skip(self, reason):
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def keep(self, failure):
        """Keeps the first failures of each (check, dtype), so that one bad check does not hide the others."""
        same = [f for f in self.failures if (f.check, f.dtype) == (failure.check, failure.dtype)]
        if len(same) < MAX_FAILURES_KEPT:
            self.failures.append(failure)

    def failed(self):
        bad = any(c["failed"] for by in self.counts.values() for c in by.values())
        return bad or bool(self.missing and self.demanded)

    def as_dict(self):
        plain = {d: {k: dict(c) for k, c in by.items()} for d, by in self.counts.items()}
        return dict(vars(self), counts=plain, failures=[asdict(f) for f in self.failures])


def run_check(fn, sample):
    """(outcome, message) of one check on one sample: "missing" when thalweg lacks a name; "refused" with a reason."""
    try:
        message = fn(sample)
    except (Rejected, Inconvertible):
        return "skipped", ""
    except Exception as e:
        if names.is_missing(e):
            return "missing", str(e)
        if reason := on_device.refusal(e):
            return "refused", reason
        return "failed", "raises " + first_line(e)
    if message is SKIP:
        return "skipped", ""
    return ("failed", message) if message else ("passed", "")


def perform(result, dtype, index, sample, table, describe, main):
    """Every check of `table` on one sample. A name missing in the `main` check means that the unit is not offered."""
    marks = set()
    for check, fn in table.items():
        at(result.name, dtype, check, index)
        outcome, message = run_check(fn, sample)
        if outcome == "missing" and check == main:
            result.missing = message
            return
        if outcome == "missing":
            outcome, message = "failed", f"thalweg lacks {message}"
        if outcome == "refused":
            result.skip(message)
            outcome, message = "skipped", ""
        exemption = exempt.find(result.name, dtype, check, sample) if outcome in ("passed", "failed") else None
        if exemption is not None and "value: " not in message:  # a wrong value is never exempt
            result.exemptions.setdefault(exemption.key(), {"passed": 0, "failed": 0})[outcome] += 1
            outcome = "exempt" if outcome == "failed" else outcome
        result.count(dtype, check, outcome)
        marks.add(outcome)
        if outcome == "failed":
            result.keep(Failure(check, dtype, index, message, describe(sample)))
    result.samples += 1
    result.exempt_samples += "exempt" in marks
    result.bad_samples += "failed" in marks

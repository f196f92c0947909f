"""What is allowed to differ, and why.

An exemption names an op (or a database name with its variant), dtypes, a check and, where it is narrower than that, a
predicate of the sample. At most MAX_FRACTION of the samples may be exempt, and an exemption whose check passes
everywhere is stale and fails the run. A wrong value is never a reason.
"""

from collections.abc import Callable
from dataclasses import dataclass

from .samples import DTYPES

MAX_FRACTION = 0.02
FLOATS = ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True)
class Exemption:
    op: str
    check: str
    reason: str
    dtypes: tuple = DTYPES
    when: Callable = lambda sample: True

    def covers(self, name, dtype, check, sample):
        return (
            self.op in (name, name.partition(".")[0])
            and check == self.check
            and dtype in self.dtypes
            and self.when(sample)
        )

    def key(self):
        return f"{self.op}|{self.check}|{','.join(self.dtypes)}|{self.reason}"


EXEMPTIONS: tuple[Exemption, ...] = (
    Exemption(
        "addbmm",
        "inplace",
        "torch gives the written tensor the shape of the result; an in-place op here keeps its tensor's shape",
        when=lambda sample: sample.input.shape != (sample.args[0].shape[1], sample.args[1].shape[2]),
    ),
)


def find(name, dtype, check, sample):
    for exemption in EXEMPTIONS:
        if exemption.covers(name, dtype, check, sample):
            return exemption
    return None

"""The processes that save something together."""

import secrets

from thalweg import distributed as dist
from thalweg._core import _native
from thalweg.distributed.group import ProcessGroup

_TIMEOUT_S = 1800


class Processes:
    """Those of a group, by default all of the job."""

    def __init__(self, group=None):
        everyone = range(len(_native.world()[0]))
        if group is None and len(everyone) > 1:
            group = dist.group.WORLD or ProcessGroup(everyone, _TIMEOUT_S)
        self._group = group
        self.count = 1 if group is None else group.size()
        self.number = 0 if group is None else group.rank()

    def token(self):
        """A name that no other checkpoint has, the same in all processes."""
        return self.gather(secrets.token_hex(6))[0]

    def gather(self, item):
        """The items of all processes, in their order."""
        if self.count == 1:
            return [item]
        items = [None] * self.count
        dist.all_gather_object(items, item, group=self._group)
        return items

    def together(self, work, op="checkpoint.save"):
        """What `work()` returns in every process, in their order; where it fails in one it raises in all."""
        result, failure = None, None
        try:
            result = work()
        except Exception as error:  # told to the others, who would wait for this process otherwise
            failure = error
        reports = self.gather((result, None if failure is None else f"{type(failure).__name__}: {failure}"))
        if failure is not None:
            raise failure
        for number, (_, trouble) in enumerate(reports):
            if trouble is not None:
                raise OSError(f"{op}: process {number} failed: {trouble}")
        return [found for found, _ in reports]

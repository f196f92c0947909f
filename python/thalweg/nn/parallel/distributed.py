"""Data parallel training: every process has the whole model and a part of the data."""

import contextlib

import thalweg as tw
from thalweg import distributed as dist
from thalweg.nn.module import Module
from thalweg.nn.parallel.flat import broadcast_from_first, described
from thalweg.nn.parallel.reached import reached_leaves
from thalweg.nn.parallel.reducer import Reducer


class DistributedDataParallel(Module):
    """Wraps a module so that backward averages its gradients over all processes.

    The parameters and buffers of the first rank are given to all when it is made. While backward runs, gradients that
    are ready are averaged bucket by bucket, in the same order everywhere; when backward() returns every `.grad` is
    the mean. Give each process its own samples (`tw.data.DistributedSampler`), and let the optimizer run on each.

    Args:
        module: with at least one parameter that requires grad.
        broadcast_buffers: give the first rank's buffers to all before each forward in training.
        process_group: those who take part; by default all ranks.
        bucket_cap_mb: gradients are sent together up to so many MiB.
        find_unused_parameters: look after each forward which parameters its result depends on, and do not wait for
            the others. A parameter that no rank used keeps its `.grad`.

    Errors: ValueError where the processes' modules differ in names, shapes or dtypes, or nothing requires grad;
    RuntimeError at a forward after a backward in which parameters had no gradient, naming them.

    >>> import thalweg.distributed as dist
    >>> dist.init_process_group()
    >>> model = tw.nn.parallel.DistributedDataParallel(tw.nn.Linear(2, 1))
    >>> model(tw.ones(4, 2)).sum().backward()
    >>> model.module.weight.grad
    tensor([[4., 4.]])
    >>> dist.destroy_process_group()

    Source: Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training", VLDB 2020.
    """

    def __init__(self, module, *, broadcast_buffers=True, process_group=None, bucket_cap_mb=25,
                 find_unused_parameters=False):  # fmt: skip
        super().__init__()
        self.module = module
        self.broadcast_buffers = broadcast_buffers
        self.process_group = process_group
        self.find_unused_parameters = find_unused_parameters
        named = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
        if not named:
            raise ValueError("DistributedDataParallel: a module with parameters that require grad is wanted")
        self._check_equal()
        with tw.no_grad():
            broadcast_from_first([*module.parameters(), *module.buffers()], process_group)
        self._reducer = Reducer(named, process_group, int(bucket_cap_mb * 2**20))

    def _check_equal(self):
        mine = described(self.module)
        everybody = [None] * dist.get_world_size(self.process_group)
        dist.all_gather_object(everybody, mine, group=self.process_group)
        for rank, theirs in enumerate(everybody):
            if theirs != everybody[0]:
                differing = sorted(set(theirs) ^ set(everybody[0]))
                raise ValueError(
                    f"DistributedDataParallel: equal modules are wanted, but rank {rank} differs from rank 0 in "
                    f"{differing[:4]}"
                )

    def forward(self, *args, **kwargs):
        """Calls the module."""
        recording = tw.is_grad_enabled() and self.training
        if recording:
            self._reducer.begin()
            if self.broadcast_buffers and self._reducer.enabled:
                with tw.no_grad():
                    broadcast_from_first(list(self.module.buffers()), self.process_group)
        result = self.module(*args, **kwargs)
        if recording and self.find_unused_parameters:
            self._reducer.expect_only(reached_leaves(result))
        return result

    @contextlib.contextmanager
    def no_sync(self):
        """Gradients are only accumulated within it; the first backward after it averages all of them."""
        before = self._reducer.enabled
        self._reducer.enabled = False
        try:
            yield
        finally:
            self._reducer.enabled = before

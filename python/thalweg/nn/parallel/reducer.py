"""Averages gradients over a group while backward runs.

Parameters are put into buckets in the reverse of their order, which is about the order in which backward finds their
gradients. A bucket is sent when all its gradients are there and all buckets before it are sent, so that the order is
the same on every rank. The last gradient waits for what is on its way.

A gradient that this backward has made is replaced by its part of the bucket at once: its own memory is free for what
backward makes next, and the mean needs no copy. One that was there before keeps its memory, since others may hold it.
"""

import thalweg as tw
from thalweg import distributed as dist


class Bucket:
    """Some parameters of one dtype, and the mean of their gradients on its way."""

    def __init__(self, parameters):
        self.parameters = parameters
        self.reset()

    def reset(self):
        """A backward begins; memory is that of this backward alone, as its gradients lie in it afterwards."""
        self.waiting = len(self.parameters)
        self.flat = self.work = None
        self.parts = {}

    def part(self, key):
        """The place of a parameter's gradient, by the parameter's id."""
        if self.flat is None:
            first = self.parameters[0]
            self.flat = tw.empty(sum(p.numel() for p in self.parameters), dtype=first.dtype, device=first.device)
            self.parts = dict(zip(map(id, self.parameters), _parts(self.flat, self.parameters), strict=True))
        return self.parts[key]


class Reducer:
    """Of one model: knows what backward still owes."""

    def __init__(self, named, group, bucket_bytes):
        self.enabled = True
        self._group = group
        self._size = dist.get_world_size(group)
        self._names = {id(parameter): name for name, parameter in named}
        self._parameters = {id(parameter): parameter for _, parameter in named}
        self._buckets = _buckets([parameter for _, parameter in named], bucket_bytes)
        self._bucket_of = {id(p): bucket for bucket in self._buckets for p in bucket.parameters}
        self._unused_allowed = False
        self._reset()
        for _, parameter in named:
            parameter.register_post_accumulate_grad_hook(self._ready)

    def _reset(self):
        self._seen, self._unused, self._sent = set(), set(), 0
        self._without, self._replaced = set(), set()
        for bucket in self._buckets:
            bucket.reset()

    def begin(self):
        """A forward begins: the backward before must have ended."""
        if self._seen:
            missing = [name for key, name in self._names.items() if key not in self._seen]
            self._reset()
            raise RuntimeError(
                f"DistributedDataParallel: the backward before this forward gave no gradient to {missing[:4]}; pass "
                "find_unused_parameters=True where a forward does not use all parameters"
            )
        self._unused_allowed = False
        self._without = {key for key, parameter in self._parameters.items() if parameter.grad is None}

    def expect_only(self, reached):
        """Backward will give gradients to these alone, by id; the others are not waited for."""
        self._unused_allowed = True
        self._unused = {key for key in self._names if key not in reached}

    def _ready(self, parameter):
        if not self.enabled:
            return
        if not self._seen:  # the first gradient of this backward
            for key in self._unused:
                self._count(key)
        self._count(id(parameter))
        while self._sent < len(self._buckets) and not self._buckets[self._sent].waiting:
            self._send(self._buckets[self._sent])
            self._sent += 1
        for bucket in self._buckets[: self._sent]:
            bucket.work.is_completed()  # moves what is on its way
        if self._sent == len(self._buckets):
            self._finish()

    def _count(self, key):
        if key in self._seen:
            raise RuntimeError(
                f"DistributedDataParallel: {self._names[key]} had two gradients after one forward; call backward once "
                "a forward, or accumulate under no_sync()"
            )
        self._seen.add(key)
        bucket = self._bucket_of[key]
        bucket.waiting -= 1
        with tw.no_grad():  # its share of the mean, while the gradient is in the cache
            part, parameter = bucket.part(key), self._parameters[key]
            if parameter.grad is None:
                part.zero_()
                return
            tw.mul(parameter.grad, 1 / self._size, out=part)
            if key in self._without:
                parameter.grad = part
                self._replaced.add(key)

    def _send(self, bucket):
        bucket.work = dist.all_reduce(bucket.flat, group=self._group, async_op=True)

    def _finish(self):
        used = self._used_anywhere() if self._unused_allowed else set(self._names)
        with tw.no_grad():
            for bucket in self._buckets:
                bucket.work.wait()
                for parameter in bucket.parameters:
                    key = id(parameter)
                    if key in used and parameter.grad is None:
                        parameter.grad = bucket.part(key)
                    elif key in used and key not in self._replaced:
                        parameter.grad.copy_(bucket.part(key))
        self._reset()

    def _used_anywhere(self):
        """The parameters that a forward of some rank used."""
        keys = list(self._names)
        used = tw.tensor([key not in self._unused for key in keys], dtype=tw.int32)
        dist.all_reduce(used, op=dist.ReduceOp.MAX, group=self._group)
        return {key for key, flag in zip(keys, used.tolist(), strict=True) if flag}


def _parts(flat, parameters):
    """Views of a 1-d tensor, one as large as each parameter."""
    pieces = flat.split([p.numel() for p in parameters])
    return [piece.view(p.shape) for piece, p in zip(pieces, parameters, strict=True)]


def _buckets(parameters, bucket_bytes):
    """Parameters of one dtype each, up to so many bytes, in the reverse of their order."""
    buckets, open_ones, sizes = [], {}, {}
    for parameter in reversed(parameters):
        dtype = parameter.dtype
        size = parameter.numel() * parameter.element_size()
        if dtype not in open_ones or sizes[dtype] + size > bucket_bytes:
            open_ones[dtype], sizes[dtype] = [], 0
            buckets.append(open_ones[dtype])
        open_ones[dtype].append(parameter)
        sizes[dtype] += size
    return [Bucket(list(found)) for found in buckets]

"""Normalisation with running statistics: over the batch (BatchNorm) or within each sample (InstanceNorm)."""

from __future__ import annotations

import thalweg as tw
from thalweg.nn import functional as F
from thalweg.nn.modules.normalization import _Affine

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]


class _RunningNorm(_Affine):
    """Weight and bias [num_features], and with track_running_stats the buffers running_mean, _var and the count."""

    _version = 2  # since 2 the state has num_batches_tracked
    _wanted_dims: tuple

    def __init__(
        self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *,
        bias=True,
    ):  # fmt: skip
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        buffers = dict.fromkeys(("running_mean", "running_var", "num_batches_tracked"))
        if track_running_stats:
            buffers["running_mean"] = tw.zeros(num_features, device=device, dtype=dtype)
            buffers["running_var"] = tw.ones(num_features, device=device, dtype=dtype)
            buffers["num_batches_tracked"] = tw.tensor(0, dtype=tw.int64, device=device)
        for name, buffer in buffers.items():
            self.register_buffer(name, buffer)
        self._make_affine((num_features,), affine, affine and bias, device, dtype)

    def reset_running_stats(self):
        """Sets the running mean to 0, the variance to 1 and the count to 0."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Sets the running statistics, the weight and the bias back to their first values."""
        self.reset_running_stats()
        super().reset_parameters()

    def _upgrade_state(self, state_dict, prefix, version):
        if (version is None or version < 2) and self.num_batches_tracked is not None:
            state_dict.setdefault(prefix + "num_batches_tracked", self.num_batches_tracked.detach().clone())

    def _check_dims(self, input):
        if input.dim() not in self._wanted_dims:
            wanted = " or ".join(str(n) for n in self._wanted_dims)
            raise ValueError(f"{type(self).__name__}: {wanted} dims are wanted, got {input.dim()}")

    def extra_repr(self):
        names = ("eps", "momentum", "affine", "track_running_stats")
        return ", ".join([str(self.num_features), *(f"{name}={getattr(self, name)}" for name in names)])


class _BatchNorm(_RunningNorm):
    def forward(self, input):
        self._check_dims(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the plain average of all batches
                momentum = 1.0 / float(self.num_batches_tracked)
        # Without running statistics evaluation, too, takes the batch's own.
        use_batch = self.training or (self.running_mean is None and self.running_var is None)
        update = not self.training or self.track_running_stats
        return F.batch_norm(
            input, self.running_mean if update else None, self.running_var if update else None, self.weight, self.bias,
            use_batch, momentum, self.eps,
        )  # fmt: skip


class BatchNorm1d(_BatchNorm):
    """(x - mean) / sqrt(var + eps) · weight + bias with statistics a channel over the batch (Ioffe & Szegedy, 2015).

    Input [N, C] or [N, C, L]. In training the batch's statistics are used, and running_mean and running_var move
    towards them (the variance unbiased) by `momentum`; in evaluation the running ones are used.

    Args:
        num_features: C.
        eps: added to the variance.
        momentum: the weight of the newest batch; None for the plain average of all batches.
        affine, bias: learn weight and bias [C].
        track_running_stats: keep running statistics; without them evaluation uses the batch's own.

    Errors: ValueError for an input of other dims, or of one value a channel in training.

    >>> import thalweg as tw
    >>> norm = tw.nn.BatchNorm1d(1)
    >>> [round(x, 3) for x in norm(tw.tensor([[1.0], [3.0]])).flatten().tolist()]
    [-1.0, 1.0]
    >>> round(norm.running_mean.item(), 3)
    0.2
    """

    _wanted_dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """BatchNorm1d for [N, C, H, W]."""

    _wanted_dims = (4,)


class BatchNorm3d(_BatchNorm):
    """BatchNorm1d for [N, C, D, H, W]."""

    _wanted_dims = (5,)


class _InstanceNorm(_RunningNorm):
    def __init__(
        self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None, dtype=None, *,
        bias=True,
    ):  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input):
        self._check_dims(input)
        channels = input.shape[-self._wanted_dims[0]]
        if channels != self.num_features and (self.affine or self.track_running_stats):
            raise ValueError(f"{type(self).__name__}: {self.num_features} channels are wanted, got {channels}")
        unbatched = input.dim() == self._wanted_dims[0]
        result = F.instance_norm(
            input.unsqueeze(0) if unbatched else input, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats, 0.0 if self.momentum is None else self.momentum, self.eps,
        )  # fmt: skip
        return result.squeeze(0) if unbatched else result


class InstanceNorm1d(_InstanceNorm):
    """BatchNorm1d with the statistics of each sample: [N, C, L] or [C, L] (Ulyanov et al., 2016).

    By default it learns nothing and keeps no running statistics.
    """

    _wanted_dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """InstanceNorm1d for [N, C, H, W] or [C, H, W]."""

    _wanted_dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """InstanceNorm1d for [N, C, D, H, W] or [C, D, H, W]."""

    _wanted_dims = (4, 5)

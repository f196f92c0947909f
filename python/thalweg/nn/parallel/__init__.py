"""Training one model in several processes."""

from thalweg.nn.parallel.distributed import DistributedDataParallel

__all__ = ["DistributedDataParallel"]

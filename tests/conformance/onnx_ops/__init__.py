"""ONNX operators by way of thalweg's functions. Importing the package fills `registry.OPS`."""

from . import attention, indexing, losses, neural, norms, pointwise, pooling, recurrent, reductions, resize, shapes

__all__ = [
    "attention", "indexing", "losses", "neural", "norms", "pointwise", "pooling", "recurrent", "reductions", "resize",
    "shapes",
]  # fmt: skip

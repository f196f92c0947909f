"""Composites: functions written with registered ops. Importing the package exports them (see thalweg._registry)."""

from thalweg.composites import (
    aliases,
    comparison,
    einsum,
    nn_conv,
    nn_pooling,
    products,
)

__all__ = [
    "aliases",
    "comparison",
    "einsum",
    "nn_conv",
    "nn_pooling",
    "products",
]

"""Composites: functions written with registered ops. Importing the package exports them (see thalweg._registry)."""

from thalweg.composites import (
    aliases,
    comparison,
    einsum,
    nn_attention,
    nn_conv,
    nn_grid,
    nn_pooling,
    nn_resample,
    products,
)

__all__ = [
    "aliases",
    "comparison",
    "einsum",
    "nn_attention",
    "nn_conv",
    "nn_grid",
    "nn_pooling",
    "nn_resample",
    "products",
]

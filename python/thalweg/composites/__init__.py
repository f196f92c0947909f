"""Composites: functions written with registered ops. Importing the package exports them (see thalweg._registry)."""

from thalweg.composites import (
    aliases,
    comparison,
    einsum,
    nn_activation,
    nn_attention,
    nn_conv,
    nn_dropout,
    nn_grid,
    nn_loss,
    nn_margin_loss,
    nn_pooling,
    nn_resample,
    pointwise_forms,
    products,
    random_tensors,
)

__all__ = [
    "aliases",
    "comparison",
    "einsum",
    "nn_activation",
    "nn_attention",
    "nn_conv",
    "nn_dropout",
    "nn_grid",
    "nn_loss",
    "nn_margin_loss",
    "nn_pooling",
    "nn_resample",
    "pointwise_forms",
    "products",
    "random_tensors",
]

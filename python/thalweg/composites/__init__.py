"""Composites: functions written with registered ops. Importing the package exports them (see thalweg._registry)."""

from thalweg.composites import einsum, nn_conv, nn_pooling, products

__all__ = ["einsum", "nn_conv", "nn_pooling", "products"]

"""Helpers under PyTorch's name and in its places."""

from thalweg.utils import checkpoint

__all__ = ["checkpoint"]

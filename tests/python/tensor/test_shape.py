"""Shapes own the numbers they hold."""

import sys

import thalweg as tw


def test_shapes_hold_references_to_large_sizes():
    x = tw.zeros(5000, 3)
    for _ in range(1000):
        shape = x.shape
        assert shape == (5000, 3) and sys.getrefcount(shape[0]) >= 2
        del shape
        [10**6 + i for i in range(100)]  # takes the memory of numbers that were freed too early
    assert x.stride() == (3, 1) and x.shape.numel() == 15000

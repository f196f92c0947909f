"""Collating samples into batches."""

from collections import OrderedDict, namedtuple

import numpy as np
import pytest
import thalweg as tw
from thalweg.data import default_collate, default_convert

Point = namedtuple("Point", "x y")


def test_leaves():
    stacked = default_collate([tw.zeros(2, 3), tw.ones(2, 3)])
    assert stacked.shape == (2, 2, 3) and stacked[1].sum() == 6
    for samples, dtype in [
        ([1.5, 2.5], tw.float64),
        ([1, 2], tw.int64),
        ([True, False], tw.bool),
        ([np.float32(1.5), np.float32(2.5)], tw.float32),
        ([np.ones(2, np.int16), np.zeros(2, np.int16)], tw.int16),
    ]:
        batch = default_collate(samples)
        assert batch.dtype == dtype and batch.tolist() == [np.asarray(s).tolist() for s in samples]
    assert default_collate(["a", "b"]) == ["a", "b"] and default_collate([b"a"]) == [b"a"]


def test_containers():
    batch = default_collate([{"a": (1, [2.0, "s"]), "p": Point(1, 2)}, {"a": (3, [4.0, "t"]), "p": Point(5, 6)}])
    first, (floats, strings) = batch["a"]
    assert first.tolist() == [1, 3] and floats.tolist() == [2.0, 4.0] and list(strings) == ["s", "t"]
    assert type(batch["p"]) is Point and batch["p"].y.tolist() == [2, 6]
    ordered = default_collate([OrderedDict(b=1, a=2)])
    assert type(ordered) is OrderedDict and list(ordered) == ["b", "a"] and ordered["b"].tolist() == [1]


def test_refusals():
    with pytest.raises(ValueError, match="one length"):
        default_collate([[1, 2], [3]])
    with pytest.raises(TypeError, match="collate_fn"):
        default_collate([object()])
    with pytest.raises(TypeError, match="arrays of numbers"):
        default_collate([np.array(["a"])])
    with pytest.raises((ValueError, RuntimeError)):
        default_collate([tw.zeros(2), tw.zeros(3)])


def test_convert():
    out = default_convert({"a": np.arange(3), "b": (np.float64(1.5), "s"), "c": [None], "d": Point(np.ones(1), 2)})
    assert out["a"].tolist() == [0, 1, 2] and out["b"][0].item() == 1.5 and out["b"][1] == "s" and out["c"] == [None]
    assert type(out["d"]) is Point and out["d"].x.tolist() == [1]
    x = tw.ones(1)
    assert default_convert(x) is x
    assert default_convert(np.array("text")).dtype.kind == "U"

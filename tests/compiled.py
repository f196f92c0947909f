"""Compiled functions against the same functions as they are."""

import thalweg as tw


def check(function, *cases, traces=1):
    """`function` gives the same eagerly and compiled, for every case, in `traces` builds."""
    compiled = tw.jit(function)
    for case in cases:
        for ours, theirs in zip(leaves(compiled(*case)), leaves(function(*case)), strict=True):
            if isinstance(theirs, tw.Tensor):
                assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
                assert tw.allclose(ours, theirs, rtol=1e-6, atol=1e-6), (ours, theirs)
            else:
                assert float(ours) == theirs
    assert compiled.trace_count == traces
    return compiled


def leaves(tree):
    if isinstance(tree, dict):
        return [leaf for item in tree.values() for leaf in leaves(item)]
    if isinstance(tree, (tuple, list)):
        return [leaf for item in tree for leaf in leaves(item)]
    return [tree]

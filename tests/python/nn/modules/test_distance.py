"""PairwiseDistance and CosineSimilarity."""

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn

A, B = np.random.default_rng(0).normal(size=(2, 4, 3))


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_pairwise_distance(p):
    expected = np.linalg.norm(A - B + 1e-6, p, axis=1)
    got = nn.PairwiseDistance(p)(tw.tensor(A), tw.tensor(B))
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-10)
    assert tuple(nn.PairwiseDistance(p, keepdim=True)(tw.tensor(A), tw.tensor(B)).shape) == (4, 1)


@pytest.mark.parametrize("dim", [0, 1])
def test_cosine_similarity(dim):
    expected = (A * B).sum(dim) / (np.linalg.norm(A, axis=dim) * np.linalg.norm(B, axis=dim))
    np.testing.assert_allclose(nn.CosineSimilarity(dim)(tw.tensor(A), tw.tensor(B)).numpy(), expected, rtol=1e-10)


def test_eps_bounds_a_zero_vector():
    assert nn.CosineSimilarity(0)(tw.zeros(3), tw.ones(3)).item() == 0

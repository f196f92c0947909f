import numpy as np
import pytest
import thalweg as tw

F = tw.nn.functional


def mask(threads, seed=3, size=100_000):
    before = tw.get_num_threads()
    try:
        tw.set_num_threads(threads)
        tw.manual_seed(seed)
        return F.dropout(tw.ones(size), 0.5).numpy()
    finally:
        tw.set_num_threads(before)


def test_the_mask_depends_on_the_seed_alone():
    # ooples/AiDotNet.Tensors#684, apache/mxnet#16705
    first = mask(1)
    np.testing.assert_array_equal(first, mask(2))
    tw.rand(17)
    np.testing.assert_array_equal(first, mask(2))
    assert set(first.tolist()) == {0.0, 2.0}
    assert first.mean() == pytest.approx(1, abs=0.02)


def test_all_dropped():
    x = tw.tensor([1.0, float("nan"), float("inf")], requires_grad=True)
    y = F.dropout(x, 1.0)
    y.sum().backward()
    assert y.tolist() == [0.0, 0.0, 0.0]
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


def test_nothing_dropped():
    x = tw.ones(3)
    assert F.dropout(x, 0.0) is x
    assert F.dropout(x, 0.9, training=False) is x


def test_gradient_follows_the_mask():
    x = tw.ones(64, 33, dtype=tw.float64, requires_grad=True)
    y = F.dropout(x.t(), 0.25)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.detach().numpy().T)
    np.testing.assert_allclose(sorted(set(y.detach().flatten().tolist())), [0.0, 1 / 0.75])


def test_in_place():
    x = tw.ones(1000)
    assert F.dropout(x, 0.5, inplace=True) is x
    assert set(x.tolist()) == {0.0, 2.0}


@pytest.mark.parametrize(("name", "rank"), [("dropout1d", 3), ("dropout2d", 4), ("dropout3d", 5)])
def test_whole_channels(name, rank):
    tw.manual_seed(0)
    y = getattr(F, name)(tw.ones(*[16, 16] + [3] * (rank - 2)), 0.5).numpy().reshape(256, -1)
    assert (y == y[:, :1]).all()
    assert set(y[:, 0].tolist()) == {0.0, 2.0}


def test_alpha_dropout_keeps_mean_and_variance():
    tw.manual_seed(0)
    x = tw.randn(200_000)
    y = F.alpha_dropout(x, 0.3, training=True).numpy()
    assert y.mean() == pytest.approx(0, abs=0.02)
    assert y.std() == pytest.approx(1, abs=0.02)
    channels = F.feature_alpha_dropout(tw.ones(8, 8, 5), 0.5, training=True).numpy()
    assert (channels == channels[..., :1]).all()
    assert set(tw.feature_dropout(tw.ones(8, 8, 2), 0.5).flatten().tolist()) <= {0.0, 2.0}


def test_wrong_p():
    for function in (F.dropout, F.alpha_dropout, F.dropout2d):
        with pytest.raises(ValueError, match=r"\[0, 1\]"):
            function(tw.ones(2, 2, 2, 2), 1.5)


@pytest.mark.parametrize("p", [0.5, 1.0])
def test_whole_channels_without_a_batch_in_place(p):
    x = tw.ones(6, 2, 2, 2)
    assert tw.nn.functional.dropout3d(x, p, inplace=True) is x
    assert {len(set(channel)) for channel in x.flatten(1).tolist()} == {1}
    assert set(x.unique().tolist()) <= {0.0, 2.0}

"""Micro-batches in compiled functions: one body, run for each part, with what eager mode gives."""

import numpy as np
import pytest
import thalweg as tw
import thalweg.nn.functional as F
from thalweg import nn, optim


def training(parts, compiled, dropout=0.3, asynchronous=False, norm=True):
    """Losses and the parameters of a few training steps."""
    tw.manual_seed(3)
    layers = [nn.Linear(6, 16), *([nn.BatchNorm1d(16)] if norm else []), nn.GELU(), nn.Dropout(dropout)]
    model = nn.Sequential(*layers, nn.Linear(16, 4))
    optimizer = optim.AdamW(model.parameters(), lr=0.02)

    def learn(x, y):
        out = model(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        return loss, out.argmax(1), (out.argmax(1) == y).sum()

    def step(x, y):
        optimizer.zero_grad()
        results = tw.micro_batches(learn, parts)(x, y)
        optimizer.step()
        return results

    run = tw.jit(step, asynchronous=asynchronous) if compiled else step
    x, y = tw.randn(24, 6), tw.randint(0, 4, (24,))
    results = [[t.numpy(force=True) for t in run(x, y)] for _ in range(5)]
    return results, [p.numpy(force=True) for p in model.state_dict().values()], tw.rand(2).numpy(), run


def assert_equal(a, b):
    for left, right in zip(a, b, strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("parts", [2, 3, 8])
def test_steps_are_those_of_eager_mode(parts, asynchronous):
    expected, weights, numbers, _ = training(parts, False)
    results, static_weights, static_numbers, _ = training(parts, True, asynchronous=asynchronous)
    for a, b in zip(results, expected, strict=True):
        assert_equal(a, b)
    assert_equal(static_weights, weights)
    assert_equal([static_numbers], [numbers])


@pytest.mark.parametrize("compiled", [False, True])
def test_masks_are_those_of_the_whole_batch(compiled):
    def masks(x):
        rows = F.dropout(x, 0.5)
        merged = F.dropout(x.reshape(-1, 2), 0.5)
        last = F.dropout(x.reshape(x.shape[0], -1).T.contiguous()[:5], 0.5)
        return rows, merged, last.T, tw.rand(x.shape[0], 3), tw.rand(7)

    tw.manual_seed(1)
    whole, after = masks(tw.ones(12, 2, 4)), tw.rand(1)
    tw.manual_seed(1)
    run = tw.micro_batches(masks, 3)
    results = (tw.jit(run) if compiled else run)(tw.ones(12, 2, 4))
    assert_equal([r.numpy() for r in results[:4]], [w.numpy() for w in whole[:4]])
    assert_equal(results[4].reshape(3, 7).numpy(), [whole[4].numpy()] * 3)
    assert tw.rand(1).item() == after.item()


def test_training_is_that_of_the_whole_batch():
    expected, weights, *_ = training(1, True, norm=False)
    results, part_weights, *_ = training(4, True, norm=False)
    for a, b in zip(results, expected):
        np.testing.assert_allclose(a[0], b[0], rtol=1e-5)
    for a, b in zip(part_weights, weights):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_neither_program_nor_plan_grows_with_the_parts():
    def size(parts):
        plan = training(parts, True)[-1].programs()[0].step.plan()
        return len(str(plan).splitlines())

    assert size(2) == size(12)


def test_gradients_that_are_there_are_added_to_and_new_ones_are_made():
    def outcome(compiled, first):
        w, v = tw.tensor([1.0, 2.0], requires_grad=True), tw.tensor(3.0, requires_grad=True)
        if first:
            w.grad = tw.tensor([10.0, 20.0])
        held = w.grad

        def learn(x, scale):
            loss = (x * w * scale).sum() * v
            loss.backward()
            return {"loss": loss, "scale": scale}

        run = tw.micro_batches(learn, 2)
        run = tw.jit(run) if compiled else run
        results = [run(tw.arange(8.0).reshape(4, 2), 3.0) for _ in range(3)]
        return [r["loss"].item() for r in results], w.grad.tolist(), v.grad.item(), first and held.tolist()

    for first in (True, False):
        assert outcome(True, first) == outcome(False, first)


def test_batches_that_are_written_to_and_callbacks():
    def outcome(compiled):
        seen = []

        def learn(x, y):
            x -= x.mean()
            y[0] = 7
            tw.jit.callback(lambda a: seen.append(a.tolist()), x.sum(1))
            return (x * y).sum()

        run = tw.micro_batches(learn, 2)
        run = tw.jit(run) if compiled else run
        x, y = tw.arange(12.0).reshape(4, 3), tw.ones(4, 1)
        results = [run(x, y).item() for _ in range(2)]
        return results, x.tolist(), y.tolist(), seen

    assert outcome(True) == outcome(False)


def test_parts_are_computed_again_and_cut_again():
    def outcome(compiled, inner):
        tw.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.4), nn.Linear(8, 2))

        def learn(x):
            loss = (tw.checkpoint(model, x) ** 2).mean()
            loss.backward()
            return loss

        run = tw.micro_batches(tw.micro_batches(learn, inner), 6 // inner)
        run = tw.jit(run) if compiled else run
        losses = [run(tw.ones(12, 4)).item() for _ in range(2)]
        return losses, [p.grad.numpy().copy() for p in model.parameters()]

    losses, grads = outcome(False, 1)
    for compiled in (False, True):
        for inner in (1, 2, 3):
            again, same = outcome(compiled, inner)
            np.testing.assert_allclose(again, losses, rtol=1e-6)
            for a, b in zip(same, grads):
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


def test_a_program_in_eager_parts_draws_other_numbers_for_each():
    tw.manual_seed(0)
    masks = tw.micro_batches(tw.jit(lambda x: F.dropout(x, 0.5)), 2)(tw.ones(64, 4))
    assert (masks[:32] != masks[32:]).any()


def test_backward_behind_the_parts():
    def outcome(compiled):
        w = tw.tensor([1.0, -2.0, 0.5], requires_grad=True)

        def step(x):
            loss, out = tw.micro_batches(lambda x: ((x * w).tanh().sum(), x * w), 2)(x)
            (loss + (out**3).mean()).backward()
            return loss.detach()

        run = tw.jit(step) if compiled else step
        return run(tw.arange(12.0).reshape(4, 3) / 9).numpy(), w.grad.numpy()

    for a, b in zip(outcome(True), outcome(False)):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_means_over_kept_tokens():
    """Short parts do not weigh more than long ones: sums are divided by the mean count of a part."""
    x, w = tw.arange(32.0).reshape(16, 2) / 16, tw.tensor([[0.3, -0.2, 0.1], [0.5, 0.4, -0.6]])
    for kept in ([2, 6], [0, 8], [0, 0]):
        y = tw.full((16,), -100, dtype=tw.int64)
        for part, count in enumerate(kept):
            y[8 * part : 8 * part + count] = tw.arange(count) % 3
        whole = w.clone().requires_grad_()
        summed = F.cross_entropy(x @ whole, y, ignore_index=-100, reduction="sum")
        (summed / max(sum(kept), 1)).backward()
        for compiled in (False, True):
            weight = w.clone().requires_grad_()

            def learn(x, y, count, weight=weight):
                loss = F.cross_entropy(x @ weight, y, ignore_index=-100, reduction="sum") / count
                loss.backward()
                return loss

            def step(x, y, learn=learn):
                return tw.micro_batches(learn, 2)(x, y, (y != -100).sum().clamp(min=1) / 2)

            loss = (tw.jit(step) if compiled else step)(x, y)
            np.testing.assert_allclose(loss.item(), summed.item() / max(sum(kept), 1), rtol=1e-6)
            np.testing.assert_allclose(weight.grad.numpy(), whole.grad.numpy(), rtol=1e-5, atol=1e-7)

"""Saved graphs of global tensors: they do what was saved, where it was saved and elsewhere."""

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn
from thalweg.nn import functional as F

S, B, P = tw.sbp.split, tw.sbp.broadcast, tw.sbp.partial_sum
PAIR = tw.placement("cpu", [0, 1])
MESH = tw.placement("cpu", [[0, 1], [2, 3]])
PLACES = [
    (PAIR, S(0), None),
    (PAIR, B, tw.placement("cpu", [3, 1])),
    (MESH, [S(0), S(1)], tw.placement("cpu", range(4))),
]


def values(shape, seed=0):
    return tw.tensor(np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32))


def same(found, expected):
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)


def on(place, where):
    """`where` as a graph has it that was loaded on `place`."""
    return where if place is None else tw.placement("cpu", place.ranks.ravel().reshape(where.ranks.shape))


@pytest.mark.parametrize("where, how, place", PLACES)
def test_a_model_is_saved_and_loaded_elsewhere(tmp_path, where, how, place):
    tw.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)).to_global(
        where, lambda name, t: how if name == "0.weight" else [B] * where.ndim
    )
    x = values((8, 4)).to_global(where, how)
    path = tmp_path / "model.tw"
    tw.save_graph(path, model, x)
    graph = tw.load_graph(path, placement=place)
    there = on(place, where)
    assert graph.inputs == {"input": (tw.float32, (8, 4))}
    weight = graph.variables["0.weight"]
    assert (weight.placement, weight.sbp) == (there, x.sbp)
    for seed in (0, 1):
        found = graph(values((8, 4), seed).to_global(there, [B] * where.ndim))  # boxed, where it lies otherwise
        assert found.placement == there
        same(found, model(values((8, 4), seed).to_global(where, how)))


def test_results_lie_as_was_said(tmp_path):
    def f(x):
        return {"split": (x * 2).to_global(sbp=S(1)), "pending": x.to_global(sbp=P), "number": 3, "local": tw.ones(2)}

    x = values((4, 6))
    tw.save_graph(tmp_path / "f.tw", f, x.to_global(PAIR, S(0)))
    found = tw.load_graph(tmp_path / "f.tw")(x.to_global(PAIR, S(0)))
    assert (found["split"].sbp, found["pending"].sbp, found["number"]) == ((S(1),), (P,), 3)
    assert found["local"].is_local
    same(found["split"], x * 2)
    same(found["pending"], x)


@pytest.mark.parametrize("place", [None, tw.placement("cpu", [2, 3])])
def test_a_training_step_goes_on_from_where_it_was(tmp_path, place):
    tw.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 3)).to_global(PAIR, B)
    optimizer = tw.optim.AdamW(model.parameters(), lr=0.01)

    def step(x, y):
        with tw.enable_grad():
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

    x, y = values((8, 4)), values((8, 3), 1)
    step(x.to_global(PAIR, S(0)), y.to_global(PAIR, S(0)))
    tw.save_graph(tmp_path / "step.tw", step, x.to_global(PAIR, S(0)), y.to_global(PAIR, S(0)))
    loaded = tw.load_graph(tmp_path / "step.tw", placement=place)
    there = place or PAIR
    for _ in range(3):
        expected = step(x.to_global(PAIR, S(0)), y.to_global(PAIR, S(0)))
        same(loaded(x.to_global(there, S(0)), y.to_global(there, S(0))), expected)


def test_control_flow_is_saved(tmp_path):
    def f(x):
        y = tw.cond(x.sum() > 0, lambda: (x * 2).to_global(sbp=S(1)), lambda: x.exp())
        return tw.while_loop(lambda y: y.abs().sum() > 1, lambda y: y / 2, (y,))[0]

    x = values((8, 4))
    tw.save_graph(tmp_path / "f.tw", f, x.to_global(PAIR, S(0)))
    there = tw.placement("cpu", [2, 1])
    graph = tw.load_graph(tmp_path / "f.tw", placement=there)
    for sign in (1, -1):
        same(graph((x * sign).to_global(there, S(0))), f((x * sign).to_global(PAIR, S(0))))


def test_stages_go_to_as_many_ranks(tmp_path):
    first, second = tw.placement("cpu", [3]), tw.placement("cpu", [1, 2])
    tw.save_graph(tmp_path / "f.tw", lambda x: (x + 1).to_global(second, S(0)) * 2, values((4, 2)).to_global(first, B))
    graph = tw.load_graph(tmp_path / "f.tw", placement=tw.placement("cpu", [0, 2, 3]))
    found = graph(values((4, 2)).to_global(tw.placement("cpu", [0]), B))
    assert found.placement == tw.placement("cpu", [2, 3])
    same(found, (values((4, 2)) + 1) * 2)


def test_errors_name_the_way_out(tmp_path):
    path, local = tmp_path / "f.tw", tmp_path / "local.tw"
    tw.save_graph(path, lambda x: x + 1, values((4,)).to_global(MESH, [S(0), B]))
    tw.save_graph(local, lambda x: x + 1, values((4,)))
    with pytest.raises(tw.PlacementError, match="lie on 4 ranks, .* has 2"):
        tw.load_graph(path, placement=PAIR)
    with pytest.raises(tw.PlacementError, match="no global tensors"):
        tw.load_graph(local, placement=PAIR)
    with pytest.raises(tw.PlacementError, match='input "x" must be global, as on .*, got a local tensor'):
        tw.load_graph(path)(values((4,)))
    with pytest.raises(tw.PlacementError, match='input "x" must be local, got on cpu'):
        tw.load_graph(local)(values((4,)).to_global(PAIR, B))
    with pytest.raises(NotImplementedError, match="to its parts, which each process has its own of"):
        tw.save_graph(path, lambda x: x.to_local()[0], values((4,)).to_global(PAIR, B))
    with pytest.raises(NotImplementedError, match="without dynamic_shapes"):
        tw.save_graph(
            path, lambda x: x + 1, values((4, 2)).to_global(PAIR, B), dynamic_shapes={"x": {0: tw.Dim("n", max=8)}}
        )
    tw.env.init(devices_per_process=2)
    with pytest.raises(tw.PlacementError, match=r"rank 2 among others, but the job has 2 ranks; load_graph\(path, pla"):
        tw.load_graph(path)

"""Graphs of global tensors, saved by several processes together and loaded by one or several."""

SAVE = """
import numpy as np
import sys
from thalweg import nn
S, B = tw.sbp.split, tw.sbp.broadcast

def values(shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)

where = tw.placement.all("cpu")
tw.manual_seed(0)
model = nn.Linear(4, 6)
local = model(tw.tensor(values((5, 4)))).relu().detach().numpy()
for name, param in list(model.named_parameters()):
    setattr(model, name, nn.Parameter(tw.tensor(param.detach().numpy(), placement=where, sbp=S(0))))

def f(x):
    return tw.cond(x.sum() > 100, lambda: x.sum(), lambda: model(x).relu().sum())

x = tw.tensor(values((5, 4)), placement=where, sbp=S(0))
tw.save_graph(PATH, f, x)
graph = tw.load_graph(PATH)
print("near", abs(graph(x).item() - local.sum()) < 1e-4)
"""

LOAD = """
import thalweg as tw
import numpy as np
tw.env.init(devices_per_process=4)
there = tw.placement("cpu", [3, 1])
graph = tw.load_graph(PATH, placement=there)
values = np.random.default_rng(0).uniform(-1, 1, (5, 4)).astype(np.float32)
print("alone", round(graph(tw.tensor(values, placement=there, sbp=tw.sbp.split(0))).item(), 4))
"""


def test_what_processes_save_one_loads(ranks, tmp_path):
    path = f"PATH = {str(tmp_path / 'graph.tw')!r}\n"
    saved = ranks(2, path + SAVE + "print('alone', round(float(local.sum()), 4))")
    assert saved.code == 0, saved.err
    assert saved.out.count("near True") == 2, saved.out
    loaded = ranks(1, path + LOAD)
    assert loaded.code == 0, loaded.err
    alone = [line.split("alone ")[1] for line in (saved.out + loaded.out).splitlines() if "alone" in line]
    assert len(alone) == 3 and max(map(float, alone)) - min(map(float, alone)) < 2e-4


FAILING = """
where = tw.placement.all("cpu")
x = tw.ones(4, placement=where, sbp=tw.sbp.split(0))
try:
    tw.save_graph("/no such folder/graph.tw", lambda x: x + 1, x)
except OSError as error:
    print("refused", type(error).__name__)
"""


def test_a_file_that_cannot_be_written_is_an_error_in_all(ranks):
    outcome = ranks(2, FAILING)
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("refused") == 2, outcome.out
